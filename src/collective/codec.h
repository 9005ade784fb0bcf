// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as bytes, for messages between ranks. Little-endian, as every machine that this runs on.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace longship::collective {

static_assert(std::endian::native == std::endian::little);

class Encoder {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Throws Error when the bytes are not what is asked for.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  template <class Enum>
  Enum get_below(int count) {
    const auto number = get<std::underlying_type_t<Enum>>();
    if (number >= count) throw Error("a message from another rank makes no sense");
    return static_cast<Enum>(number);
  }
  std::string text() {
    const auto length = get<std::uint32_t>();
    const auto bytes = next(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void expect_end() const {
    if (!rest_.empty()) throw Error("a message from another rank is too long");
  }

 private:
  std::span<const std::byte> next(std::size_t length) {
    if (rest_.size() < length) throw Error("a message from another rank is too short");
    const auto bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    return bytes;
  }

  std::span<const std::byte> rest_;
};

}  // namespace longship::collective
