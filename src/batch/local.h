// SPDX-License-Identifier: Apache-2.0
// This machine as a batch system: pilots wait in the order they came until cores, memory and GPUs are free.
//
//   DIRECTORY/lock               held during each call, so that several processes may come
//   DIRECTORY/NAME/request.json  the pilot, and its place in the line
//   DIRECTORY/NAME/process       supervisor.h: who runs it
//   DIRECTORY/NAME/ended         how it ended
//
// There is no daemon: whoever asks also starts what can start. All that is known is in these files, so that
// another process finds it, and one that was killed at any moment leaves nothing half done. A pilot that
// ended is remembered for a week.
#pragma once
#include "base/fd.h"
#include "batch.h"
#include "request.h"

namespace longship::batch {

struct Capacity {
  int cores = 1;
  std::uint64_t memory = 0;  // bytes; 0: not counted
  int gpus = 0;
};

class Local final : public BatchSystem {
 public:
  Local(std::filesystem::path directory, Capacity capacity,
        std::chrono::milliseconds grace = std::chrono::seconds(30));

  std::string submit(const Pilot& pilot) override;
  [[nodiscard]] Reports report(std::span<const std::string> names) override;
  void cancel(const std::string& name) override;

 private:
  using Known = LocalPilot;
  using All = std::map<std::string, Known>;
  [[nodiscard]] Fd lock() const;
  [[nodiscard]] All look();
  void start_what_fits(All& all) const;
  void start(Known& known, const All& all) const;
  [[nodiscard]] bool fits(const Pilot& pilot, const All& all) const;
  [[nodiscard]] std::string waiting_for(const Known& known, const All& all) const;
  [[nodiscard]] Report report_of(const Known& known, const All& all) const;
  void forget_old();

  std::filesystem::path directory_;
  Capacity capacity_;
  std::chrono::milliseconds grace_;
  All ended_;               // read once: their files do not change any more
  std::vector<int> cores_;  // to bind to; empty if the site file counts others than this process may use
};

}  // namespace longship::batch
