// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <sched.h>

#include "base/error.h"

namespace longship::collective {
namespace {

int usable_cores() {
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

// Ranks bound to cores of their own each see few; ranks that share all cores see them all.
bool is_crowded(int local_size) {
  return usable_cores() > 1 && local_size > usable_cores();
}

}  // namespace

Session::Session(const World& world, const std::string& record, Engine::Options options) : world_(world) {
  Meeting meeting = meet(world_);
  local_rank_ = meeting.local_rank;
  local_size_ = meeting.local_size;
  nodes_ = std::move(meeting.nodes);
  if (!record.empty()) {
    std::string problem;
    writer_ = record::Writer::open(record, {world_.rank, world_.size, local_rank_, world_.node}, &problem);
    if (!writer_) throw Error("cannot record in {}: {}", record, problem);
    writer_->clock_offset(meeting.clock_offset);
  }
  transport_ = std::make_unique<StreamTransport>(std::move(meeting.wiring));
  engine_ = std::make_unique<Engine>(*transport_, transport_->common_segment(), options, writer_.get());
  // What goes the short way is not seen by the engine, which records.
  const bool crowded = is_crowded(local_size_);
  if (transport_->common_segment() != nullptr && !writer_)
    shortcut_ =
        std::make_unique<Shortcut>(*transport_->common_segment(), crowded, Shortcut::usual_patience(crowded));
  driver_ = std::make_unique<Driver>(*transport_, *engine_, crowded, shortcut_.get());
}

Session::~Session() {
  driver_->leave(std::chrono::seconds(5));
}

}  // namespace longship::collective
