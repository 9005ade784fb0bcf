// SPDX-License-Identifier: Apache-2.0
#include "socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include "base/error.h"

namespace longship::collective {
namespace {

// The kernel passes at most 253 at once.
constexpr std::size_t descriptors_at_once = 200;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw Error("{}: {}", host, ::gai_strerror(error));
  return {found, &::freeaddrinfo};
}

Fd make_socket(const addrinfo& address) {
  Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Error::from_errno(errno, "cannot make a socket");
  return socket;
}

void switch_on(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof on);
}

using NameFunction = int(int, sockaddr*, socklen_t*);

std::string numeric_address(int socket, NameFunction* name_of_end) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (name_of_end(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw Error::from_errno(errno, "cannot find out a socket's address");
  char host[NI_MAXHOST] = {};
  const int error = ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, nullptr,
                                  0, NI_NUMERICHOST);
  if (error != 0) throw Error("cannot write an address: {}", ::gai_strerror(error));
  return host;
}

struct AbstractAddress {
  explicit AbstractAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::size_t used = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), used);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length = 0;
};

// Room for the control message that carries descriptors.
struct Ancillary {
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * descriptors_at_once)] = {};
};

msghdr message_with(iovec& payload, Ancillary& ancillary, std::size_t length) {
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.space;
  message.msg_controllen = length;
  return message;
}

}  // namespace

Fd listen_tcp(const std::string& host, int port) {
  const auto addresses = resolve(host, port, AI_PASSIVE);
  Fd socket = make_socket(*addresses);
  switch_on(socket.get(), SOL_SOCKET, SO_REUSEADDR);
  if (port != 0) switch_on(socket.get(), SOL_SOCKET, SO_REUSEPORT);
  if (::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot listen at {}:{}", host, port);
  return socket;
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw Error::from_errno(errno, "cannot find out a socket's port");
  const auto port = address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                                  : reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

Fd connect_tcp(const std::string& host, int port, Instant until) {
  for (;;) {
    const auto addresses = resolve(host, port, 0);
    int error = 0;
    for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
      Fd socket = make_socket(*address);
      if (::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0) return socket;
      error = errno;
    }
    const bool may_come =
        error == ECONNREFUSED || error == EINTR || error == EHOSTUNREACH || error == ENETUNREACH;
    if (!may_come || std::chrono::steady_clock::now() >= until)
      throw Error::from_errno(error, "cannot connect to {}:{}", host, port);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Fd try_connect_tcp(const std::string& host, int port, std::chrono::seconds patience) {
  const auto addresses = resolve(host, port, 0);
  Fd socket = make_socket(*addresses);
  // On Linux the time limit of sending is that of connecting too.
  const timeval limit = {patience.count(), 0}, none = {0, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0)
    throw Error::from_errno(errno == EINPROGRESS ? ETIMEDOUT : errno, "cannot connect to {}:{}", host, port);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  return socket;
}

std::string own_address(int socket) {
  return numeric_address(socket, &::getsockname);
}

std::string their_address(int socket) {
  return numeric_address(socket, &::getpeername);
}

void set_no_delay(int socket) {
  switch_on(socket, IPPROTO_TCP, TCP_NODELAY);
}

void set_link_timeout(int socket, std::chrono::seconds timeout) {
  // Half of the time in silence, then a question every second. What was sent and is not acknowledged counts
  // from when it was sent.
  const auto seconds = static_cast<int>(timeout.count());
  const int idle = std::max(1, seconds / 2), every = 1, questions = std::max(1, seconds - idle);
  const int milliseconds = seconds * 1000;
  switch_on(socket, SOL_SOCKET, SO_KEEPALIVE);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &questions, sizeof questions);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

Fd listen_abstract(const std::string& name) {
  const AbstractAddress address(name);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), address.get(), address.length) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot listen for the ranks of this node");
  return socket;
}

Fd connect_abstract(const std::string& name) {
  const AbstractAddress address(name);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), address.get(), address.length) != 0)
    throw Error::from_errno(errno, "cannot reach a rank that should be on this node");
  return socket;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

void send_descriptors(int socket, const std::vector<int>& descriptors) {
  for (std::size_t at = 0; at < descriptors.size(); at += descriptors_at_once) {
    const std::size_t count = std::min(descriptors_at_once, descriptors.size() - at);
    char byte = 0;
    iovec payload = {&byte, 1};
    Ancillary ancillary;
    msghdr message = message_with(payload, ancillary, CMSG_SPACE(sizeof(int) * count));
    cmsghdr* const control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(control), descriptors.data() + at, sizeof(int) * count);
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1)
      throw Error::from_errno(errno, "cannot hand over descriptors");
  }
}

std::vector<Fd> receive_descriptors(int socket, std::size_t count) {
  std::vector<Fd> received;
  while (received.size() < count) {
    char byte = 0;
    iovec payload = {&byte, 1};
    Ancillary ancillary;
    msghdr message = message_with(payload, ancillary, sizeof ancillary.space);
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
      throw Error::from_errno(errno, "cannot receive descriptors");
    const cmsghdr* const control = CMSG_FIRSTHDR(&message);
    if (control == nullptr || control->cmsg_type != SCM_RIGHTS || (message.msg_flags & MSG_CTRUNC) != 0)
      throw Error("descriptors did not arrive: is the limit of open files too low?");
    const std::size_t numbers = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < numbers; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof(int), sizeof number);
      received.emplace_back(number);
    }
  }
  return received;
}

}  // namespace longship::collective
