// SPDX-License-Identifier: Apache-2.0
// The Transport over a site's own MPI (src/mpi), which knows the site's network best.
//
// MPI's tags are too small for ours, so every message begins with a Header under one MPI tag that all ranks
// have receives waiting for. Short ones bring their bytes along; of a long one the bytes follow under a tag
// of their own, straight into the receiver's buffer once it is known. MPI cannot wake a sleeper: wait() looks
// again after a pause that grows to a millisecond or two. It does not tell either when a rank is lost: its
// launcher ends the others.
#pragma once
#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "base/fd.h"
#include "mpi/longship_mpi.h"
#include "transport.h"

namespace longship::collective {

class MpiTransport final : public Transport {
 public:
  // `calls` is started and outlives this, and serves one at a time. All ranks make and unmake theirs
  // together.
  MpiTransport(const longship_mpi_calls& calls, int rank, int size);
  ~MpiTransport() override;

  void send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) override;
  void receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) override;
  bool progress() override;
  bool arm() override { return true; }
  void wait(Instant until) override;
  void wake() override;
  bool leave() override;

  // Sleeps in MPI until a message moves: for who has no other thread and nothing else to wait for (a
  // simulation).
  void block();

 private:
  struct Header {
    Tag tag = 0;
    std::uint64_t length = 0;
    std::uint64_t number = 0;  // of this long message between the two ranks
  };
  struct Expected {
    Tag tag;
    std::span<std::byte> buffer;
    Completion* completion;
  };
  struct Arrived {
    Header header;
    std::vector<std::byte> bytes;  // of a short one
  };
  struct Peer {
    std::deque<Expected> expected;
    std::deque<Arrived> arrived;
    std::uint64_t long_sent = 0;
  };
  // What MPI still reads from or writes to.
  struct Transfer {
    std::vector<longship_mpi_request*> requests;
    std::vector<std::byte> packet;
    Completion* completion = nullptr;  // null: nobody waits for it
    std::size_t bytes = 0;
  };
  struct Inbox {
    std::vector<std::byte> buffer;
    longship_mpi_request* request = nullptr;
  };

  void check(int code) const;
  void open(Inbox& inbox);
  bool empty_inboxes();
  void take_in(int from, std::span<const std::byte> packet);
  void deliver(int from, const Header& header, std::span<const std::byte> bytes, const Expected& to);
  void begin_body(Transfer& transfer, int peer, const Header& header, std::byte* data, bool sending);
  bool move(Transfer& transfer);
  bool move_transfers();

  const longship_mpi_calls& calls_;
  std::vector<Peer> peers_;
  std::deque<Inbox> inboxes_;  // in the order in which MPI fills them
  std::list<Transfer> transfers_;
  Fd waker_;
  int pause_microseconds_;
};

}  // namespace longship::collective
