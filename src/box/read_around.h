// SPDX-License-Identifier: Apache-2.0
// Which parts of an image to ask the disk for before anybody needs them.
//
// A program that starts reads an image here and there, some ten kilobytes at a time, and waits for each. The
// kernel reads ahead where a file is read from front to back, and sees no order in this. But what is used
// together was mostly packed together: so whoever is the first to come to a part has all of it read, and
// behind it as many parts as were read in a row before it.
//
// Who reads one block in each of many parts gains nothing by that: where parts are hardly ever needed a
// second time, none is asked for, until it would have paid again.
#pragma once
#include <cstdint>
#include <vector>

namespace longship::box {

class ReadAround {
 public:
  static constexpr std::uint64_t part = 1u << 20;  // what a disk, or a server of files, reads in one go
  static constexpr std::uint64_t most_ahead = 7;   // parts
  static constexpr std::uint64_t trial = 32;       // parts, before it is judged whether it pays

  struct Stretch {
    std::uint64_t offset = 0, length = 0;
    bool operator==(const Stretch&) const = default;
  };

  explicit ReadAround(std::uint64_t size);
  // A block that begins there is about to be read: what to ask for. Mostly that is nothing, of length 0.
  [[nodiscard]] Stretch around(std::uint64_t position);

 private:
  [[nodiscard]] std::uint64_t read_before(std::uint64_t number) const;
  // Some that were asked for ahead of who reads in a row have not had their turn yet.
  [[nodiscard]] bool pays() const { return asked_ <= trial || used_ + 2 * most_ahead >= asked_; }
  void fade();

  std::uint64_t size_;
  std::vector<bool> is_asked_, is_read_;  // of each part
  std::uint64_t asked_ = 0;               // parts
  std::uint64_t used_ = 0;                // blocks that were, or would have been, there because of that
};

}  // namespace longship::box
