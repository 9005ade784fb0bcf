// SPDX-License-Identifier: Apache-2.0
// A block being filled: appends entries to a buffer of 64 KiB. The caller asks for room first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "encoding.h"

namespace longship::record {

class Block {
 public:
  // Clears it; times are stored relative to `base` until a later one is given.
  void begin(std::int64_t base) {
    end_ = bytes_.get();
    *end_++ = static_cast<char>(block_version);
    latest_ = 0;
    lane_ = 0;
    sequence_ = 0;
    time(base);
    first_entry_ = end_;
  }

  [[nodiscard]] bool empty() const { return end_ == first_entry_; }
  [[nodiscard]] std::size_t room() const {
    return largest_block - static_cast<std::size_t>(end_ - bytes_.get());
  }
  [[nodiscard]] std::string_view bytes() const {
    return {bytes_.get(), static_cast<std::size_t>(end_ - bytes_.get())};
  }

  void kind(Kind kind, unsigned plus = 0) { *end_++ = static_cast<char>(static_cast<unsigned>(kind) + plus); }
  void number(std::uint64_t value) { end_ = put_varint(end_, value); }
  void difference(std::int64_t value) { end_ = put_varint(end_, zigzag(value)); }
  void time(std::int64_t value) {
    difference(value - latest_);
    latest_ = value;
  }
  void later(std::int64_t value) {  // not before the latest time
    number(static_cast<std::uint64_t>(value - latest_));
    latest_ = value;
  }
  void text(std::string_view value) {
    number(value.size());
    end_ = std::copy(value.begin(), value.end(), end_);
  }
  void real(double value) {
    std::memcpy(end_, &value, sizeof value);
    end_ += sizeof value;
  }
  void lane(std::uint64_t lane) {
    if (lane == lane_) return;
    lane_ = lane;
    kind(Kind::lane);
    number(lane);
  }
  void sequence(std::uint64_t value) {
    difference(static_cast<std::int64_t>(value - sequence_));
    sequence_ = value;
  }

 private:
  std::unique_ptr<char[]> bytes_{new char[largest_block]};
  char* end_ = bytes_.get();
  char* first_entry_ = bytes_.get();
  std::int64_t latest_ = 0;
  std::uint64_t lane_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace longship::record
