// SPDX-License-Identifier: Apache-2.0
// Output as it comes out of a pipe, handed on as lines, in bounded memory.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace longship::launch {

// Calls back with each line, without its end. One that is longer than the limit comes in pieces.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;
  explicit LineSplitter(std::size_t limit = 8192) : limit_(limit) {}
  void feed(std::string_view bytes, const Take& take);
  void finish(const Take& take);  // what came without an end

 private:
  std::size_t limit_;
  std::string partial_;
};

// What a terminal would show of a line in which a progress bar went back to the beginning: the last version.
[[nodiscard]] std::string_view after_returns(std::string_view line);

// The last lines, for the message that tells why a rank failed.
class Tail {
 public:
  explicit Tail(std::size_t lines = 20) : most_(lines), splitter_(1000) {}
  void feed(std::string_view bytes);
  [[nodiscard]] std::string text();  // each line ended by \n

 private:
  void add(std::string_view line);
  std::size_t most_;
  LineSplitter splitter_;
  std::deque<std::string> lines_;
};

}  // namespace longship::launch
