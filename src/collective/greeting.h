// SPDX-License-Identifier: Apache-2.0
// How two processes of a job make sure of each other before they speak: both prove that they know the secret,
// without showing it.
//
//   porter → guest   magic, nonce P
//   guest → porter   nonce G, length, words, HMAC(secret, "guest" P G words)
//   porter → guest   HMAC(secret, "porter" P G words)
//
// Whoever does not answer so is a stranger and is turned away without delaying the others. After the greeting
// the connection carries plain bytes: secrecy on the wire is the network's business, as with MPI.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "sha256.h"

namespace longship::collective {

using Bytes = std::vector<std::byte>;

[[nodiscard]] Bytes random_bytes(std::size_t count);

struct Guest {
  Fd socket;    // blocking
  Bytes words;  // what it said about itself
};

// Stands at a listening socket and lets in those that know the secret.
class Porter {
 public:
  Porter(Fd listener, Bytes secret);
  // The next guest, or nothing when the time is over.
  [[nodiscard]] std::optional<Guest> next(Instant until);
  [[nodiscard]] int listener() const { return listener_.get(); }

 private:
  struct Visitor {
    Fd socket;
    Bytes nonce;
    Bytes said;
    Instant until;
  };
  void welcome(Instant now);
  [[nodiscard]] bool hear(Visitor& visitor) const;  // false: turn it away
  [[nodiscard]] std::optional<Guest> admit(Visitor& visitor) const;

  Fd listener_;
  Bytes secret_;
  std::vector<Visitor> visitors_;
};

// The other side, on a connected blocking socket. Throws Error if the porter does not know the secret or says
// nothing.
void greet(int socket, const Bytes& secret, const Bytes& words, Instant until);

// Whole messages on blocking sockets, each with its length first.
void send_message(int socket, const Bytes& bytes, Instant until);
[[nodiscard]] Bytes receive_message(int socket, Instant until);

}  // namespace longship::collective
