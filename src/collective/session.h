// SPDX-License-Identifier: Apache-2.0
// One process's membership in a job, from meeting the other ranks to leaving them: all parts, in the order in
// which they are made and unmade.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "driver.h"
#include "rendezvous.h"
#include "world.h"

namespace longship::collective {

class Session {
 public:
  // `record`: the directory for this rank's log, empty for none.
  Session(const World& world, const std::string& record, Engine::Options options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] int rank() const { return world_.rank; }
  [[nodiscard]] int size() const { return world_.size; }
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_size_; }
  // This rank's node among all of them.
  [[nodiscard]] int node() const { return nodes_[static_cast<std::size_t>(world_.rank)]; }
  [[nodiscard]] int node_count() const { return 1 + *std::max_element(nodes_.begin(), nodes_.end()); }
  // Of this node; null if this rank is alone there, or speaks through MPI.
  [[nodiscard]] Segment* segment() { return streams_ == nullptr ? nullptr : streams_->segment(); }
  [[nodiscard]] Driver& driver() { return *driver_; }
  [[nodiscard]] record::Writer* writer() { return writer_.get(); }  // null if nothing is recorded

 private:
  void meet_by_mpi();
  [[nodiscard]] Duration meet_others();
  void open_record(const std::string& directory, Duration clock_offset);

  World world_;
  int local_rank_ = 0, local_size_ = 1;
  std::vector<int> nodes_;  // by rank
  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<Transport> transport_;
  StreamTransport* streams_ = nullptr;  // the same, if it is one
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Shortcut> shortcut_;
  std::unique_ptr<Driver> driver_;
};

}  // namespace longship::collective
