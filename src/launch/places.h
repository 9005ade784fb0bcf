// SPDX-License-Identifier: Apache-2.0
// Many small runs in one allocation, or on one machine: which node and which cores each gets while others run
// beside it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/process.h"
#include "cores.h"
#include "job/job.h"

namespace longship::launch {

struct Place {
  std::string node;  // of the allocation; empty: this machine
  Cores cores;       // of this machine; empty: all that there are
};

class Places {
 public:
  // `needs` of one run. One of several nodes is spread over the allocation by `longship run` itself.
  Places(const job::Needs& needs, const Environment& environment);

  [[nodiscard]] Place take();  // where the fewest are
  void give_back(const Place& place);

 private:
  std::map<std::string, int> nodes_;  // and how many runs are there
  std::vector<Cores> shares_;         // of this machine's cores; empty: they are not divided
  std::vector<int> takers_;           // of each share
};

// The command that runs `words` there, as if the node were the whole allocation. On a node they end when its
// stdin does.
[[nodiscard]] std::vector<std::string> at_place(const Place& place, std::vector<std::string> words);

}  // namespace longship::launch
