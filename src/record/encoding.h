// SPDX-License-Identifier: Apache-2.0
// The bytes of a block: what Writer writes and Decoder reads, told whole in docs/formats/record.md.
//
// A block is the payload of one record of a record log. It begins with its version and a time; then follow
// entries, each a kind and its fields. Numbers are varints (7 bits a byte, low first), signed ones zigzag
// first. Times are nanoseconds of the process's steady clock, each stored as the difference to the latest
// time before it in the block, so that a span costs about nine bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longship::record {

inline constexpr std::uint8_t block_version = 1;
inline constexpr std::size_t largest_block = std::size_t{64} << 10;
inline constexpr std::size_t largest_name = 255;
inline constexpr std::size_t most_names = 65536;
inline constexpr std::size_t most_values = 64;  // of one metrics entry
inline constexpr std::size_t most_lanes = 256;
inline constexpr std::size_t most_ranks = std::size_t{1} << 30;
inline constexpr std::int64_t largest_time = std::int64_t{1} << 60;  // 36 years: sums of two never overflow

enum class Kind : std::uint8_t {
  session = 0,  // rank, size, local rank, signed time of day in ns, node: a process begins; names start anew
  name = 1,     // a string: the next name, counting from 0
  lane = 2,     // number: the entries up to the end of the block are of this thread; a block begins in lane 0
  clock_offset = 3,  // signed ns
  collective = 4,  // signed difference of sequence, name, bytes, signed arrived, begin − arrived, end − begin
  metrics = 5,  // signed time, step, steps, count, count × (name, 8 bytes of IEEE double)
  lost = 6,     // number of entries that were dropped because the disk was too slow
  span = 8,     // + activity: name, signed begin, end − begin
};

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline char* put_varint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}
inline constexpr std::size_t largest_varint = 10;

}  // namespace longship::record
