// SPDX-License-Identifier: Apache-2.0
// Parts of files as HTTP names them: https://www.rfc-editor.org/rfc/rfc9110#name-range-requests
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace longship::hub::http {

// "bytes=0-99", "bytes=100-", "bytes=-50"
struct ByteRange {
  std::optional<std::uint64_t> first, last;  // last alone: that many from the end
};
struct Part {
  std::uint64_t offset = 0, length = 0;
};

// Nothing: all of it, as for headers that make no sense or name several parts.
[[nodiscard]] std::optional<ByteRange> parse_range(std::string_view header);
// Nothing: there is no such part (416).
[[nodiscard]] std::optional<Part> part_of(const ByteRange& range, std::uint64_t size);

struct ContentRange {
  Part part;
  std::uint64_t size = 0;  // of the whole
};
// "bytes 0-99/1000"; an Error for everything else.
[[nodiscard]] ContentRange parse_content_range(std::string_view header);

}  // namespace longship::hub::http
