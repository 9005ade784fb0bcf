// SPDX-License-Identifier: Apache-2.0
// Sockets as ranks need them: TCP between nodes, abstract Unix sockets within one.
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace longship::collective {

// At a name or address; port 0 takes a free one. The port may be bound, but not listened at, by a launcher
// that holds it.
[[nodiscard]] Fd listen_tcp(const std::string& host, int port);
[[nodiscard]] int port_of(int listener);

// Tries again while nobody listens there, until the time is over.
[[nodiscard]] Fd connect_tcp(const std::string& host, int port, Instant until);
// Once, and not for longer than this: the address may lead nowhere.
[[nodiscard]] Fd try_connect_tcp(const std::string& host, int port, std::chrono::seconds patience);
[[nodiscard]] std::string own_address(int socket);  // of the interface that reaches the other end
[[nodiscard]] std::string their_address(int socket);
void set_no_delay(int socket);
// A connection to a host that has not been heard of for so long is broken. The other end's kernel answers for
// a process that is busy or stopped, so this is about nodes and networks only.
void set_link_timeout(int socket, std::chrono::seconds timeout);

// Names are not files: nothing stays behind.
[[nodiscard]] Fd listen_abstract(const std::string& name);
[[nodiscard]] Fd connect_abstract(const std::string& name);
[[nodiscard]] bool same_user(int socket);

void send_descriptors(int socket, const std::vector<int>& descriptors);
[[nodiscard]] std::vector<Fd> receive_descriptors(int socket, std::size_t count);

}  // namespace longship::collective
