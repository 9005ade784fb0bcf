// SPDX-License-Identifier: Apache-2.0
#include "stream_transport.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "ring_stream.h"
#include "socket_stream.h"

namespace longship::collective {
namespace {

// What an epoll event is about: one of these, a rank's socket, or a link by its position in the node.
constexpr std::uint64_t bell_key = ~std::uint64_t{0};
constexpr std::uint64_t waker_key = bell_key - 1;
constexpr std::uint64_t link_flag = std::uint64_t{1} << 32;

// Between looks at the links while spinning; a sleeping rank is woken by them at once.
constexpr unsigned rounds_between_looks = 1024;

// EPOLLRDHUP alone: a link carries no bytes, only its end.
constexpr std::uint32_t hang_up = EPOLLRDHUP;

void drain(int eventfd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(eventfd, &count, sizeof count);
}

}  // namespace

StreamTransport::StreamTransport(Wiring wiring)
    : Transport(wiring.rank, wiring.size),
      wiring_(std::move(wiring)),
      peers_(static_cast<std::size_t>(size())) {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  waker_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !waker_) throw Error::from_errno(errno, "cannot make an epoll set");
  watch(waker_.get(), EPOLLIN, waker_key);
  if (wiring_.segment) {
    watch(wiring_.segment->own_bell(), EPOLLIN, bell_key);
    for (std::size_t i = 0; i < wiring_.node_ranks.size(); ++i) {
      const int peer = wiring_.node_ranks[i];
      if (peer == rank()) continue;
      peers_[static_cast<std::size_t>(peer)].mailbox =
          std::make_unique<Mailbox>(std::make_unique<RingStream>(*wiring_.segment, static_cast<int>(i)));
      if (i < wiring_.links.size() && wiring_.links[i]) watch(wiring_.links[i].get(), hang_up, link_flag | i);
    }
  }
  for (std::size_t peer = 0; peer < wiring_.sockets.size(); ++peer) {
    if (!wiring_.sockets[peer]) continue;
    has_sockets_ = true;
    peers_[peer].socket = wiring_.sockets[peer].get();
    watch(peers_[peer].socket, EPOLLIN, peer);
    peers_[peer].mailbox =
        std::make_unique<Mailbox>(std::make_unique<SocketStream>(std::move(wiring_.sockets[peer])));
  }
}

void StreamTransport::send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) {
  within(fmt::format("rank {} was lost", to), [&] { mailbox(to).send(tag, bytes, completion); });
  update_interest(to);
}

void StreamTransport::receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) {
  within(fmt::format("rank {}", from), [&] { mailbox(from).receive(tag, buffer, completion); });
}

bool StreamTransport::progress() {
  if (armed_ && wiring_.segment) {
    wiring_.segment->state(wiring_.segment->rank()).sleeping.store(0, std::memory_order_relaxed);
    armed_ = false;
  }
  bool moved = progress_node();
  if (has_sockets_ || descriptors_ready_.load(std::memory_order_relaxed) ||
      ++idle_rounds_ >= rounds_between_looks)
    moved = progress_descriptors() || moved;
  return moved;
}

bool StreamTransport::arm() {
  if (wiring_.segment) {
    armed_ = true;
    wiring_.segment->state(wiring_.segment->rank()).sleeping.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return !progress_node();  // sockets and links make epoll itself return
}

void StreamTransport::wait(Instant until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  epoll_event events[8];
  const int count =
      ::epoll_wait(epoll_.get(), events, 8, static_cast<int>(std::clamp<long>(left.count(), 0, 3'600'000)));
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == bell_key) drain(wiring_.segment->own_bell());
    if (events[i].data.u64 == waker_key)
      drain(waker_.get());
    else
      descriptors_ready_ = true;  // also after the bell: it may have rung for a lost rank
  }
}

void StreamTransport::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(waker_.get(), &one, sizeof one);
}

bool StreamTransport::leave() {
  bool all_out = true;
  for (int rank = 0; rank < size(); ++rank) {
    Mailbox* const mailbox = peers_[static_cast<std::size_t>(rank)].mailbox.get();
    if (mailbox == nullptr) continue;
    if (!left_) mailbox->say_goodbye();
    update_interest(rank);
    all_out = all_out && !mailbox->has_unsent();
  }
  left_ = true;
  return all_out;
}

Segment* StreamTransport::common_segment() const {
  return wiring_.segment && wiring_.segment->ranks() == size() ? wiring_.segment.get() : nullptr;
}

void StreamTransport::watch(int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw Error::from_errno(errno, "epoll");
}

bool StreamTransport::progress_node() {
  if (!wiring_.segment) return false;
  bool moved = false;
  for (const int peer : wiring_.node_ranks)
    if (peer != rank()) moved = mailbox(peer).progress() || moved;
  return moved;
}

bool StreamTransport::progress_descriptors() {
  idle_rounds_ = 0;
  descriptors_ready_ = false;
  check_lost();
  bool moved = false;
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    if (key == bell_key || key == waker_key) continue;
    if ((key & link_flag) != 0)
      link_event(static_cast<std::size_t>(key & ~link_flag));
    else
      moved = progress_socket(static_cast<int>(key)) || moved;
  }
  return moved;
}

bool StreamTransport::progress_socket(int rank) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  try {
    const bool moved = peer.mailbox->progress();
    update_interest(rank);
    if (peer.mailbox->peer_left()) {
      peer.gone = true;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.socket, nullptr);
    }
    return moved;
  } catch (Error& error) {
    error.add(fmt::format("rank {} was lost", rank));
    throw;
  }
}

// The process at the other end has ended: in peace if its goodbye is in the ring, which outlives it.
void StreamTransport::link_event(std::size_t position) {
  const int peer = wiring_.node_ranks[position];
  mailbox(peer).progress();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, wiring_.links[position].get(), nullptr);
  if (!mailbox(peer).peer_left()) {
    wiring_.segment->set_lost(peer);
    check_lost();
  }
}

void StreamTransport::update_interest(int rank) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.socket < 0 || peer.gone || peer.wants_to_write == peer.mailbox->has_unsent()) return;
  peer.wants_to_write = !peer.wants_to_write;
  epoll_event event{};
  event.events = peer.wants_to_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(rank);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, peer.socket, &event);
}

void StreamTransport::check_lost() const {
  if (!wiring_.segment || wiring_.segment->lost() < 0) return;
  throw Error("rank {} was lost: its process has ended", wiring_.segment->lost());
}

Mailbox& StreamTransport::mailbox(int rank) {
  return *peers_[static_cast<std::size_t>(rank)].mailbox;
}

}  // namespace longship::collective
