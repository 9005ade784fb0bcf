// SPDX-License-Identifier: Apache-2.0
#include "bytes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace longship::image {

std::size_t FileSource::read(char* into, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd_.get(), into, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error::from_errno(errno, "cannot read");
  }
}

std::size_t SharedFileSource::read(char* into, std::size_t size) {
  for (;;) {
    const ssize_t got = ::pread(fd_, into, size, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read");
    at_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
}

std::size_t MemorySource::read(char* into, std::size_t size) {
  const std::size_t count = std::min(size, left_.size());
  if (count > 0) std::memcpy(into, left_.data(), count);
  left_.remove_prefix(count);
  return count;
}

std::size_t WatchedSource::read(char* into, std::size_t size) {
  const std::size_t got = source_.read(into, size);
  if (got > 0) watcher_({into, got});
  return got;
}

std::size_t read_fully(ByteSource& source, char* into, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const std::size_t got = source.read(into + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::string read_rest(ByteSource& source, std::size_t limit) {
  std::string bytes;
  std::array<char, 64 * 1024> room;
  for (auto piece = source.take(room); !piece.empty(); piece = source.take(room)) {
    if (piece.size() > limit - bytes.size())
      throw Error("larger than the {} bytes that are allowed here", limit);
    bytes += piece;
  }
  return bytes;
}

void drain(ByteSource& source) {
  std::array<char, 64 * 1024> piece;
  while (!source.take(piece).empty()) {
  }
}

}  // namespace longship::image
