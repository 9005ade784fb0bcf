// SPDX-License-Identifier: Apache-2.0
// The process that stands between the launcher and its ranks; ranks.h tells why.
#pragma once
#include <string>
#include <vector>

#include "box/box.h"
#include "ranks.h"

namespace longship::launch::detail {

// What keeper and launcher say to each other: one packet each on a SOCK_SEQPACKET pair.
struct KeeperWord {
  enum Kind : int { started, ended, gone, failed } kind;
  int rank = 0;
  int code = 0, signal = 0;  // ended: how. failed: Failure and errno
  char text[2000] = {};      // failed: what
};
struct LauncherWord {
  int rank;
  int signal;
};

struct RankPipes {
  int out, err;
};

// Never returns; the caller has forked.
[[noreturn]] void keep(int socket, const std::vector<RankStart>& starts, const std::vector<RankPipes>& pipes,
                       const box::Spec* box, const std::string& directory);

}  // namespace longship::launch::detail
