// SPDX-License-Identifier: Apache-2.0
// The Transport over Streams: shared memory to the ranks of this node, TCP to all others.
//
// One epoll set ends every sleep: the bell of this rank in the segment, an eventfd for wake(), and a second
// set, of the sockets and of the links to the node's other ranks (which carry nothing and hang up when a
// process dies). A thread that sleeps while another one progresses must not be woken by each message that the
// other is reading anyway, so the second set is taken out of the first meanwhile.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "mailbox.h"
#include "segment.h"
#include "striped_stream.h"
#include "transport.h"

namespace longship::collective {

// How each other rank is reached; what the rendezvous makes.
struct Wiring {
  int rank = 0, size = 1;
  std::unique_ptr<Segment> segment;  // null if alone on the node
  std::vector<int> node_ranks;       // the ranks of this node, ascending, this one among them
  std::vector<Fd>
      links;  // by position in node_ranks: a socket that lives as long as that rank's process, or none
  std::vector<std::vector<Fd>> sockets;  // by rank: connections to other nodes, none to this one
};

class StreamTransport final : public Transport {
 public:
  explicit StreamTransport(Wiring wiring);

  void send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) override;
  void receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) override;
  bool progress() override;
  bool arm() override;
  void wait(Instant until) override;
  void wake() override;
  bool leave() override;

  // For the direct schedule; null unless all ranks are on this node.
  [[nodiscard]] Segment* common_segment() const;
  [[nodiscard]] Segment* segment() const { return wiring_.segment.get(); }  // of the node

 private:
  struct Peer {
    std::unique_ptr<Mailbox> mailbox;
    const StripedStream* stream = nullptr;  // the mailbox's, if it goes over sockets
    std::vector<int> sockets;
    std::vector<std::uint32_t> events;  // what epoll was told, by socket
    bool gone = false;                  // left and hung up
  };

  void watch(const Fd& set, int fd, std::uint32_t events, std::uint64_t key);
  void let_descriptors_wake(bool wanted);
  bool progress_node();
  bool progress_descriptors();
  void wire_sockets(int rank, std::vector<Fd> sockets);
  bool progress_sockets(int rank);
  void link_event(std::size_t position);
  void update_interest(int rank);
  void check_lost() const;
  Mailbox& mailbox(int rank);

  Wiring wiring_;
  std::vector<Peer> peers_;
  Fd epoll_, descriptors_, waker_;  // what ends a sleep; sockets and links, one of those; wake()
  bool has_sockets_ = false;
  bool armed_ = false;
  bool descriptors_wake_ = true;
  std::atomic<bool> somebody_waits_ = false;
  bool left_ = false;
  unsigned idle_rounds_ = 0;
  std::atomic<bool> descriptors_ready_ = false;  // set by wait(): look at them in the next progress()
};

}  // namespace longship::collective
