// SPDX-License-Identifier: Apache-2.0
// Patterns of files that stay behind, as .gitignore has them: comments, "*", "?", "[a-z]", "**", a "/" that
// anchors, a "/" at the end for directories only, "!" to take an earlier pattern back. The last pattern that
// matches decides.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace longship::formats {

class IgnoreList {
 public:
  void add_lines(std::string_view text);    // a whole ignore file
  void add_pattern(std::string_view line);  // one line of it

  // `path` is relative, without "./". What is in an ignored directory is not asked for, and so cannot be
  // taken back.
  [[nodiscard]] bool ignores(std::string_view path, bool is_directory) const;

 private:
  struct Pattern {
    std::vector<std::string> parts;  // between the slashes
    bool taken_back = false;
    bool only_directories = false;
  };
  std::vector<Pattern> patterns_;
};

namespace detail {
// One part of a path against one part of a pattern.
[[nodiscard]] bool matches_part(std::string_view pattern, std::string_view text);
}  // namespace detail

}  // namespace longship::formats
