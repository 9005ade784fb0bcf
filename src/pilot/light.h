// SPDX-License-Identifier: Apache-2.0
// Many small tasks: one process without code, outputs or data needs no bundle, no guard, and no files unless
// it says something.
//
//   pilot ── keeper, forked once ── task, one after another, each in a process group of its own
//
// Tasks with an image are in one box: the keeper enters it before the first of them, so that the next ones
// start as fast as without. One Light is for one image, or for none.
//
// As with ranks (launch/ranks.h) nobody is left behind: the keeper is a subreaper, kills what a task leaves,
// and kills everything when the pilot's end of the socket closes. What a task says goes to files without a
// name, which get one (attempts/JOB.N/output/rank-00000.out) when there is something in them at the end, or
// after a while. What it reports with longship.progress makes its record (attempts/JOB.N/record) by itself.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "message/spool.h"
#include "record/reader.h"
#include "runner.h"
#include "service.h"

namespace longship::pilot {

[[nodiscard]] bool is_light(const Berth& berth, const Start& start);

class Light {
 public:
  // For tasks like `first`. `work`: the directory in which they run; made here, emptied between tasks,
  // removed in the end. Forks: the caller must have one thread.
  Light(const Berth& berth, std::filesystem::path work, std::string node, const Start& first);
  Light(const Light&) = delete;
  Light& operator=(const Light&) = delete;
  ~Light();

  [[nodiscard]] bool takes(const Start& start) const;  // it belongs here: its image is that of the others
  void start(const Start& start);
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::optional<Done> next();          // nothing if it was a false alarm
  void stop();                                       // SIGTERM, some seconds later SIGKILL
  void show_output();                                // gives the files their names; again if that failed
  [[nodiscard]] std::optional<Progress> progress();  // if it reported something since the last call

 private:
  void prepare_files();
  void clean_work();
  void keep_output();
  void name_output();
  [[nodiscard]] Done judge(const Ending& ending) const;
  [[nodiscard]] std::vector<std::string> variables_of(const Start& start) const;
  [[nodiscard]] Done keeper_died();

  message::Spool spool_;
  std::filesystem::path work_;
  std::string node_;
  std::string image_;     // the record
  std::string attempts_;  // the spool's, as tasks see them
  pid_t keeper_ = -1;
  Fd socket_;
  Fd out_, err_;  // of the task that runs; used again if nothing was written
  bool named_ = false, stopped_ = false;
  std::string unkept_;  // why its output is not where it is looked for
  message::AttemptId attempt_;
  std::optional<record::Follower> follower_;  // of its record
  Instant begun_{};
};

}  // namespace longship::pilot
