// SPDX-License-Identifier: Apache-2.0
#include "socket_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace longship::collective {
namespace {

bool try_later(int number) {
  return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

iovec part(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // iovec serves reading as well
}

// What is given to TCP at once, as a record that it does not join with the next. Left to itself it makes
// packets of 64 KB for the network card to cut; a switch or a shaper that takes less than that at once has
// them cut by the processor instead, frame by frame. On a link of 10 Gb/s with a burst of 32 KB this doubles
// the rate.
constexpr std::size_t record_bytes = 16 * 1024;
// Then somebody else gets a turn: reading must not wait until all is written.
constexpr std::size_t most_at_once = 256 * 1024;

// -1 if there is no room now.
ssize_t send_record(int socket, std::span<const std::byte> first, std::span<const std::byte> second) {
  iovec parts[2] = {part(first), part(second)};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const auto sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_EOR);
  if (sent < 0 && !try_later(errno)) throw Error::from_errno(errno, "connection");
  return sent;
}

}  // namespace

std::size_t SocketStream::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  drained_ = false;  // should it fail, what the peer said last is to be read
  std::size_t written = 0;
  while (written < most_at_once && !(first.empty() && second.empty())) {
    const auto head = first.first(std::min(first.size(), record_bytes));
    const auto body = second.first(std::min(second.size(), record_bytes - head.size()));
    const auto sent = send_record(socket_.get(), head, body);
    if (sent < 0) break;
    const auto taken = static_cast<std::size_t>(sent);
    const std::size_t of_first = std::min(taken, first.size());
    first = first.subspan(of_first);
    second = second.subspan(taken - of_first);
    written += taken;
    if (taken < head.size() + body.size()) break;
  }
  return written;
}

std::size_t SocketStream::read(std::span<std::byte> buffer) {
  if (buffer.empty()) return 0;
  if (ahead_.empty() && buffer.size() < memory_.size())
    ahead_ = std::span<const std::byte>(memory_).first(receive(memory_));
  if (ahead_.empty()) return buffer.size() < memory_.size() ? 0 : receive(buffer);
  const std::size_t taken = std::min(buffer.size(), ahead_.size());
  std::memcpy(buffer.data(), ahead_.data(), taken);
  ahead_ = ahead_.subspan(taken);
  return taken;
}

// After less came than there was room for, nothing is there: who asks once more at once is told so without a
// system call.
std::size_t SocketStream::receive(std::span<std::byte> buffer) {
  if (std::exchange(drained_, false)) return 0;
  const auto received = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received > 0) {
    drained_ = static_cast<std::size_t>(received) < buffer.size();
    return static_cast<std::size_t>(received);
  }
  if (received == 0) throw Error("connection: closed by the other end");
  if (try_later(errno)) return 0;
  throw Error::from_errno(errno, "connection");
}

}  // namespace longship::collective
