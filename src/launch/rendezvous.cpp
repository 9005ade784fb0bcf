// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/error.h"

namespace longship::launch {
namespace {

sockaddr_in address(const std::string& host, std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &at.sin_addr) != 1) throw Error("{} is not an IPv4 address", host);
  return at;
}

std::string numeric(const sockaddr_in& at) {
  char text[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text);
  return text;
}

const sockaddr* generic(const sockaddr_in& at) {
  return reinterpret_cast<const sockaddr*>(&at);
}

std::uint16_t port_of(int socket) {
  sockaddr_in at{};
  socklen_t length = sizeof at;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &length);
  return ntohs(at.sin_port);
}

Fd bound_socket(const std::string& host) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Error::from_errno(errno, "cannot make a socket");
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto at = address(host, 0);
  if (::bind(socket.get(), generic(at), sizeof at) != 0)
    throw Error::from_errno(errno, "cannot bind a port on {}", host);
  return socket;
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

// Of the interface with this name, or, without a name, of the first that is up and leads somewhere; else
// empty.
std::string address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const auto* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0)
      continue;
    const bool wanted = name.empty() ? (at->ifa_flags & IFF_LOOPBACK) == 0 : name == at->ifa_name;
    if (wanted) return numeric(*reinterpret_cast<const sockaddr_in*>(at->ifa_addr));
  }
  return {};
}

// Connecting a datagram socket sends nothing: it only asks the kernel for the route.
std::string address_towards(const std::string& peer) {
  in_addr parsed{};
  if (::inet_pton(AF_INET, peer.c_str(), &parsed) != 1) return {};
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto to = address(peer, 9);
  sockaddr_in from{};
  socklen_t length = sizeof from;
  if (::connect(socket.get(), generic(to), sizeof to) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&from), &length) != 0)
    return {};
  return numeric(from);
}

}  // namespace

Bound bind_rendezvous(const std::string& host) {
  Bound bound;
  bound.listening = bound_socket(host);
  bound.reserved = bound_socket(host);
  if (::listen(bound.listening.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot listen on {}", host);
  bound.at = {host, port_of(bound.listening.get()), port_of(bound.reserved.get())};
  return bound;
}

std::string address_of_this_node(const std::string& interface, const std::string& peer) {
  if (!interface.empty()) {
    auto found = address_of_interface(interface);
    if (found.empty())
      throw Error("LONGSHIP_INTERFACE is {}, but no interface of that name has an IPv4 address", interface);
    return found;
  }
  if (auto found = address_towards(peer); !found.empty()) return found;
  if (auto found = address_of_interface({}); !found.empty()) return found;
  return "127.0.0.1";
}

}  // namespace longship::launch
