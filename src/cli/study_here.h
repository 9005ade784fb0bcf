// SPDX-License-Identifier: Apache-2.0
// Trials as processes of this machine. A job is carried out by `longship run`, as a person would; a plain
// command by `longship launch -n 1`, so that what it starts ends with it. Each attempt has its own directory,
// which stays:
//
//   DIR/7/attempt-1/            of trial 7
//     gan-1/                    of a job: its run's directory
//     output/, record/          of a command: what it said and reported
//     log                       what Longship itself said
//
// In an allocation of several nodes they are spread over them. A member of a population finds what its parent
// left in LONGSHIP_PARENT_DIRECTORY.
//
// Whoever dies with its study is known by nothing: the next study starts it again.
#pragma once
#include <filesystem>
#include <map>
#include <memory>

#include "base/fd.h"
#include "base/process.h"
#include "job/job.h"
#include "launch/places.h"
#include "launch/signals.h"
#include "sweep/runner.h"

namespace longship::cli {

class TrialsHere final : public sweep::Runner {
 public:
  TrialsHere(const sweep::StudyFile& file, std::filesystem::path directory,
             launch::Interruptions& interruptions);
  ~TrialsHere() override;  // ends those that run

  std::string start(const sweep::Start& start) override;
  void stop(study::TrialNumber trial) override;
  [[nodiscard]] std::vector<sweep::Heard> listen(std::chrono::milliseconds patience) override;

 private:
  struct Running;
  [[nodiscard]] std::string parent_directory(const sweep::Start& start) const;  // empty: it has no parent
  [[nodiscard]] sweep::Ended judged(const Running& running, const Ending& ending) const;
  [[nodiscard]] sweep::Ended judge(const Running& running, const Ending& ending) const;

  const sweep::StudyFile& file_;
  std::filesystem::path directory_;
  launch::Interruptions& interruptions_;
  std::optional<job::Job> job_;
  launch::Places places_;
  Pipe alive_ = make_pipe();  // ends with this process: the sign for trials on other nodes
  std::map<study::TrialNumber, std::unique_ptr<Running>> running_;
};

}  // namespace longship::cli
