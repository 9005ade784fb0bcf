// SPDX-License-Identifier: Apache-2.0
// Which trials of a study begin, are tried again, are given up: a machine without processes, sockets or
// clocks. What it decides is in the study's journal before it is done, so that a new Engine over the same
// journal goes on where one was killed, at whatever moment, and each trial counts once.
//
//   step(now) ──▶ Start, Stop ──▶ whoever carries trials out ──▶ hear(now, Progress | Ended) ──▶ the journal
//
// A trial that this machine began is known by a mark among its wishes, which are written before it begins.
// Its attempts and failures, and what it is called where it runs, are remarks on it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "prepare.h"
#include "study/study.h"
#include "study_file.h"

namespace longship::sweep {

struct Start {
  study::TrialNumber trial = 0;
  int attempt = 1;
  formats::Table values;
  std::optional<study::TrialNumber> parent = {};  // of a population: it goes on from what this one left
  std::string known_as = {};  // it was started before, under this name; empty: perhaps, or never
};
struct Stop {
  study::TrialNumber trial = 0;
};
using Action = std::variant<Start, Stop>;

struct Progress {
  study::TrialNumber trial = 0;
  std::int64_t step = 0;
  double value = 0;
};
enum class Ending {
  finished,   // with values, if it reported them
  failed,     // by its own fault
  lost,       // by nobody's: its machine or its watcher went away
  cancelled,  // somebody wanted that
};
struct Ended {
  study::TrialNumber trial = 0;
  Ending ending = Ending::finished;
  std::vector<double> values;  // one for each objective; fewer: it never reported the others
  std::string reason;
  double node_seconds = 0;
};
using Heard = std::variant<Progress, Ended>;

struct Counts {
  std::uint64_t complete = 0, pruned = 0, failed = 0;
  [[nodiscard]] std::uint64_t all() const { return complete + pruned + failed; }
};

class Engine {
 public:
  // Goes on with what the journal has. `nodes`: of one trial. An Error if the study has no end, or was made
  // for another space.
  Engine(study::Study& study, const StudyFile& file, int nodes, double now);

  // What is to be done now. Called again after whatever was heard, and now and then.
  [[nodiscard]] std::vector<Action> step(double now);
  // The name under which it runs, for the next Engine.
  void started(study::TrialNumber trial, const std::string& known_as);
  void hear(double now, const Heard& heard);

  [[nodiscard]] bool is_done() const { return running_.empty() && ended_; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t expected() const;  // trials in all; 0: not known
  [[nodiscard]] const std::vector<std::string>& remarks() const { return prepared_.remarks; }  // for a person

 private:
  struct Running {
    int attempt = 0, failures = 0, losses = 0;
    double since = 0, node_seconds = 0;
    bool stopping = false;
    std::string known_as;
  };
  void take_over(const study::Trial& trial, double now);
  [[nodiscard]] bool may_begin(double now);
  [[nodiscard]] bool begin(double now, std::vector<Action>& actions);
  void start(study::TrialNumber trial, Running& running, formats::Table values, std::vector<Action>& actions);
  void on(double now, const Progress& progress);
  void on(double now, const Ended& ended);
  void again(study::TrialNumber trial, double now, bool another_attempt);
  void finish(study::TrialNumber trial, study::TrialState state, std::vector<double> values, double now,
              const std::string& reason);
  void count(study::TrialState state);
  void write_remarks(study::TrialNumber trial, const Running& running);
  [[nodiscard]] double node_seconds(double now) const;

  study::Study& study_;
  const StudyFile& file_;
  Prepared prepared_;
  int nodes_;
  double begun_;
  bool ended_ = false;  // nothing begins any more
  Counts counts_;
  double spent_ = 0;  // node-seconds of trials that are over
  std::map<study::TrialNumber, Running> running_;
  std::vector<Action> due_;  // for the next step
};

}  // namespace longship::sweep
