// SPDX-License-Identifier: Apache-2.0
// The keeper of small tasks; light.h tells why. One packet each on a SOCK_SEQPACKET pair.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "box/box.h"

namespace longship::pilot::detail {

// What the tasks of one keeper share.
struct LightPlace {
  std::optional<box::Spec> box;  // entered once, before the first task: all tasks are in it
  std::string directory;         // where they begin
  Environment environment;       // under their own variables
};

// A task on its way: the packet's bytes are 'r', then count of arguments, arguments, variables, each ended by
// a null character; stdout and stderr travel beside it. The program is looked up by the keeper, in the box if
// there is one.
struct LightTask {
  std::vector<std::string> arguments;
  std::vector<std::string> variables;  // "NAME=value"
};
inline constexpr std::size_t largest_packet = 64u << 10;
[[nodiscard]] std::string pack(const LightTask& task);

inline constexpr char stop_word = 's';

struct LightEnding {  // the keeper's word
  int code, signal;
  char problem[500];  // not empty: the task was not begun, and why
};

// Never returns; the caller has forked.
[[noreturn]] void keep_light(int socket, const LightPlace& place);

}  // namespace longship::pilot::detail
