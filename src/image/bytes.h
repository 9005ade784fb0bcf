// SPDX-License-Identifier: Apache-2.0
// Bytes that are pulled: an archive, what is left after decompressing it, the content of one of its members.
// Each stage holds only a buffer, so that an image of any size passes through in constant memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace longship::image {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // At least one byte and at most `size` of them; 0 only at the end.
  [[nodiscard]] virtual std::size_t read(char* into, std::size_t size) = 0;
  // The same without a copy where the source has the bytes at hand: they are there, or in `room`, until the
  // next call. Empty only at the end.
  [[nodiscard]] virtual std::string_view take(std::span<char> room) {
    return {room.data(), read(room.data(), room.size())};
  }
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(Fd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;

 private:
  Fd fd_;
};

// A file that several may read at the same time, each from its start.
class SharedFileSource final : public ByteSource {
 public:
  explicit SharedFileSource(int fd) : fd_(fd) {}  // somebody else's
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;

 private:
  int fd_;
  std::uint64_t at_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : left_(bytes) {}  // not copied
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;

 private:
  std::string_view left_;
};

// Passes bytes on and shows each piece to a watcher: a digest, a progress bar.
class WatchedSource final : public ByteSource {
 public:
  using Watcher = std::function<void(std::string_view piece)>;
  WatchedSource(ByteSource& source, Watcher watcher) : source_(source), watcher_(std::move(watcher)) {}
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;

 private:
  ByteSource& source_;
  Watcher watcher_;
};

// All of `size` bytes, or fewer only at the end.
[[nodiscard]] std::size_t read_fully(ByteSource& source, char* into, std::size_t size);
// The rest, in memory; more than `limit` is an Error.
[[nodiscard]] std::string read_rest(ByteSource& source, std::size_t limit);
void drain(ByteSource& source);

}  // namespace longship::image
