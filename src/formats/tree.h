// SPDX-License-Identifier: Apache-2.0
// What is in a directory that shall be bundled: names, kinds and sizes, nothing read yet.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ignore.h"
#include "member.h"

namespace longship::formats {

struct Tree {
  std::vector<Member> members;  // sorted, a directory before what is in it
  std::uint64_t bytes = 0;
  bool complete = true;  // false: there was more than `most_entries`, and the rest was not looked at
};

// Sockets, pipes and devices are an Error that names them, and so are links that lead out. `.git` is never
// looked at.
[[nodiscard]] Tree look_through(int directory, const IgnoreList& ignored, std::uint64_t most_entries);

// The entries that weigh most, one on a line, for the message that it is too much. A directory stands for its
// contents, unless one thing in it is most of that: then that is what people have to know.
enum class Weight { bytes, entries };
[[nodiscard]] std::string largest(const Tree& tree, Weight weight, std::size_t count);

}  // namespace longship::formats
