// SPDX-License-Identifier: Apache-2.0
#include "socket_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "base/error.h"

namespace longship::collective {
namespace {

bool try_later(int number) {
  return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

iovec part(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // iovec serves reading as well
}

}  // namespace

std::size_t SocketStream::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  iovec parts[2] = {part(first), part(second)};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (try_later(errno)) return 0;
  throw Error::from_errno(errno, "connection");
}

std::size_t SocketStream::read(std::span<std::byte> buffer) {
  if (buffer.empty()) return 0;
  const auto received = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) throw Error("connection: closed by the other end");
  if (try_later(errno)) return 0;
  throw Error::from_errno(errno, "connection");
}

}  // namespace longship::collective
