// SPDX-License-Identifier: Apache-2.0
#include "hand_over.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace longship::box {
namespace {

constexpr std::size_t most = 4;  // nobody hands over more at once

msghdr message_of(iovec& data, void* control, std::size_t size) {
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = size > 0 ? control : nullptr;
  message.msg_controllen = size;
  return message;
}

}  // namespace

bool hand_over(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
  iovec data = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  const std::size_t size = descriptors.size_bytes();
  msghdr message = message_of(data, control, size > 0 ? CMSG_SPACE(size) : 0);
  if (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

Received receive(int socket, std::span<std::byte> bytes) {
  iovec data = {bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  msghdr message = message_of(data, control, sizeof control);
  ssize_t size = 0;
  do size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  Received received;
  received.timed_out = size < 0 && errno == EAGAIN;
  const cmsghdr* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  received.complete = size == static_cast<ssize_t>(bytes.size());
  return received;
}

}  // namespace longship::box
