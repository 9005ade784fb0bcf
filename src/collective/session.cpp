// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <unistd.h>

#include "base/cores.h"
#include "base/error.h"
#include "mpi_library.h"
#include "mpi_transport.h"

namespace longship::collective {
namespace {

int usable_cores() {
  return static_cast<int>(allowed_cores().size());
}

// Ranks bound to cores of their own each see few; ranks that share all cores see them all.
bool is_crowded(int local_size) {
  return local_size > ::sysconf(_SC_NPROCESSORS_ONLN) || (usable_cores() > 1 && local_size > usable_cores());
}

}  // namespace

Session::Session(const World& world, const std::string& record, Engine::Options options) : world_(world) {
  Duration clock_offset{0};
  if (world_.mpi.empty())
    clock_offset = meet_others();
  else
    meet_by_mpi();
  if (!record.empty()) open_record(record, clock_offset);
  Segment* const common = streams_ == nullptr ? nullptr : streams_->common_segment();
  options.nodes = nodes_;
  options.segment = segment();
  options.shares_core = usable_cores() == 1;
  engine_ = std::make_unique<Engine>(*transport_, options, writer_.get());
  // What goes the short way is not seen by the engine, which records.
  const bool crowded = is_crowded(local_size_);
  if (common != nullptr && !writer_)
    shortcut_ = std::make_unique<Shortcut>(*common, crowded, Shortcut::usual_patience(crowded));
  driver_ = std::make_unique<Driver>(*transport_, *engine_, crowded, shortcut_.get());
}

// Returns rank 0's clock minus ours.
Duration Session::meet_others() {
  Meeting meeting = meet(world_);
  local_rank_ = meeting.local_rank;
  local_size_ = meeting.local_size;
  nodes_ = std::move(meeting.nodes);
  auto streams = std::make_unique<StreamTransport>(std::move(meeting.wiring));
  streams_ = streams.get();
  transport_ = std::move(streams);
  return meeting.clock_offset;
}

void Session::meet_by_mpi() {
  const MpiLibrary& mpi = MpiLibrary::of_process(world_.mpi);
  const auto& place = mpi.place();
  world_.rank = place.rank;
  world_.size = place.size;
  local_rank_ = place.local_rank;
  local_size_ = place.local_size;
  nodes_ = mpi.nodes();
  transport_ = std::make_unique<MpiTransport>(mpi.calls(), place.rank, place.size);
}

void Session::open_record(const std::string& directory, Duration clock_offset) {
  std::string problem;
  writer_ = record::Writer::open(directory, {world_.rank, world_.size, local_rank_, world_.node}, &problem);
  if (!writer_) throw Error("cannot record in {}: {}", directory, problem);
  writer_->clock_offset(clock_offset);
}

Session::~Session() {
  driver_->leave(std::chrono::seconds(5));
}

}  // namespace longship::collective
