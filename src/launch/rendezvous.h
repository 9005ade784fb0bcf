// SPDX-License-Identifier: Apache-2.0
// Where the ranks find each other: two TCP ports on the node of rank 0.
//
// One is for liblongship: a socket that already listens and that rank 0 inherits, so that nobody can come in
// between and the others may connect at once. The other is torchrun's MASTER_PORT, which rank 0's framework
// binds itself: it is held by a socket that is bound but does not listen, which on Linux keeps others off it,
// and lets a second bind with SO_REUSEADDR, as torch does, succeed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace longship::launch {

struct Rendezvous {
  std::string host;  // a numeric address: a static program cannot look names up everywhere
  std::uint16_t port = 0;
  std::uint16_t master_port = 0;
};

struct Bound {
  Rendezvous at;
  Fd listening;  // for rank 0
  Fd reserved;   // to be held as long as the ranks run
};

[[nodiscard]] Bound bind_rendezvous(const std::string& host);

// The address under which the other nodes reach this one: that of the interface LONGSHIP_INTERFACE names,
// else the one from which `peer`, a node known to be reachable, is reached, else the first that is up.
[[nodiscard]] std::string address_of_this_node(const std::string& interface, const std::string& peer);

}  // namespace longship::launch
