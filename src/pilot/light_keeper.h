// SPDX-License-Identifier: Apache-2.0
// The keeper of small tasks; light.h tells why. One packet each on a SOCK_SEQPACKET pair.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace longship::pilot::detail {

// A task on its way: the packet's bytes are 'r', then directory, program, count of arguments, arguments,
// variables, each ended by a null character; stdout and stderr travel beside it.
struct LightTask {
  std::string directory, program;
  std::vector<std::string> arguments;
  std::vector<std::string> variables;  // "NAME=value", over the keeper's own
};
inline constexpr std::size_t largest_packet = 64u << 10;
[[nodiscard]] std::string pack(const LightTask& task);

inline constexpr char stop_word = 's';

struct LightEnding {  // the keeper's word
  int code, signal;
};

// Never returns; the caller has forked.
[[noreturn]] void keep_light(int socket);

}  // namespace longship::pilot::detail
