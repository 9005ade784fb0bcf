// SPDX-License-Identifier: Apache-2.0
// Slurm: sbatch, one squeue for all pilots, sacct for those it forgot, scancel.
#pragma once
#include <functional>

#include "base/clock.h"
#include "batch.h"

namespace longship::batch {

// Runs one of Slurm's commands to its end and gives its output; an Error if it failed or took too long.
using RunCommand = std::function<std::string(const std::vector<std::string>& words, std::string_view input)>;
[[nodiscard]] std::string run_slurm(const std::vector<std::string>& words, std::string_view input);

// What Slurm's commands get: without the settings of an allocation that we may be in ourselves, and of a user
// who likes squeue's output otherwise; without secrets, as sbatch carries it all to the nodes.
[[nodiscard]] Environment slurm_environment(Environment environment);

class Slurm final : public BatchSystem {
 public:
  explicit Slurm(RunCommand run = run_slurm, const Clock* clock = nullptr);

  std::string submit(const Pilot& pilot) override;
  [[nodiscard]] Reports report(std::span<const std::string> names) override;
  void cancel(const std::string& name) override;

 private:
  void ask_accounting(Reports& reports);

  RunCommand run_;
  SystemClock system_;
  const Clock* clock_;
  std::map<std::string, std::string, std::less<>> ids_;  // by name, as far as seen
  // Accounting is somebody's database: it is asked once a minute at most, and never again about what ended.
  bool has_accounting_ = true;
  std::optional<Instant> asked_accounting_;
  Reports ended_;
};

}  // namespace longship::batch
