// SPDX-License-Identifier: Apache-2.0
// The ranks of one node as processes. Between the launcher and its ranks stands a keeper, a forked child that
// enters the box, so that all ranks share its namespaces, forks them and waits for them:
//
//   launcher ── keeper (in the box) ── rank 0, rank 1, …, each in a process group of its own
//
// Nobody is left behind, whoever dies and however:
//   - a rank and what it started: its group is signalled, and what left the group falls to the keeper, which
//   is a
//     subreaper and ends only after all its descendants have;
//   - the launcher, also by kill -9: its end of the socket closes, and the keeper kills everything;
//   - the keeper: the kernel kills the ranks (PR_SET_PDEATHSIG), and the launcher, a subreaper too, the rest.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "box/box.h"
#include "cores.h"

namespace longship::launch {

struct RankStart {
  std::vector<std::string> command;
  Environment environment;
  Cores cores;         // empty: not bound
  int keep_open = -1;  // a descriptor the rank inherits
};

struct AllStarted {};
struct OneEnded {
  int rank;
  Ending ending;
};
struct AllGone {};  // no descendant is left
using RankEvent = std::variant<AllStarted, OneEnded, AllGone>;

class Ranks {
 public:
  // Returns at once; the ranks start while the caller is already watching.
  Ranks(const std::vector<RankStart>& starts, const box::Spec* box, const std::string& directory);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();  // kills what still runs, waits for it

  [[nodiscard]] int events() const { return socket_.get(); }  // readable: call next()
  // Nothing if it was a false alarm. An Error if the box could not be entered or a rank not be forked.
  [[nodiscard]] std::optional<RankEvent> next();
  void signal(int rank, int number);  // to its process group; before the ranks have started: to the keeper

  // What ranks write, to be read by the caller; closed by it at the end.
  struct Outputs {
    Fd out, err;
  };
  std::vector<Outputs> outputs;

 private:
  std::optional<RankEvent> keeper_died();
  Fd socket_;
  pid_t keeper_ = -1;
  bool started_ = false;
  std::vector<bool> alive_;
};

// Kills and reaps all descendants that fell to this process.
void sweep();

}  // namespace longship::launch
