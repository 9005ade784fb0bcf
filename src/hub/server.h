// SPDX-License-Identifier: Apache-2.0
// HTTP in front of the hub: routes, tokens, ranges, server-sent events, the agents' WebSockets, and the
// portal's files. All of Boost.Beast is in server.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hub.h"

namespace longship::hub {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8470;       // 0: any free one
  std::string certificate, key;    // PEM files: TLS; empty: plain, which only loopback addresses may be
  std::string version;             // of the program, for /v1/health
  std::vector<std::string> names;  // of this host, besides its own: requests for other names are refused
};

class Server {
 public:
  Server(Hub& hub, const ServerOptions& options);  // listens when this returns
  ~Server();                                       // closes connections, joins its threads
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // http://127.0.0.1:8470

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::hub
