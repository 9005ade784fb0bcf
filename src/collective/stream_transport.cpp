// SPDX-License-Identifier: Apache-2.0
#include "stream_transport.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "ring_stream.h"

namespace longship::collective {
namespace {

// What ends a sleep.
constexpr std::uint64_t bell_key = 0, waker_key = 1, descriptors_key = 2;
// Which descriptor: one of a rank's sockets, or a link by its position in the node.
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
  descriptors_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  waker_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !descriptors_ || !waker_) throw Error::from_errno(errno, "cannot make an epoll set");
  watch(epoll_, waker_.get(), EPOLLIN, waker_key);
  watch(epoll_, descriptors_.get(), EPOLLIN, descriptors_key);
  if (wiring_.segment) {
    watch(epoll_, wiring_.segment->own_bell(), EPOLLIN, bell_key);
    for (std::size_t i = 0; i < wiring_.node_ranks.size(); ++i) {
      const int peer = wiring_.node_ranks[i];
      if (peer == rank()) continue;
      peers_[static_cast<std::size_t>(peer)].mailbox =
          std::make_unique<Mailbox>(std::make_unique<RingStream>(*wiring_.segment, static_cast<int>(i)));
      if (i < wiring_.links.size() && wiring_.links[i])
        watch(descriptors_, wiring_.links[i].get(), hang_up, link_flag | i);
    }
  }
  for (std::size_t peer = 0; peer < wiring_.sockets.size(); ++peer)
    if (!wiring_.sockets[peer].empty())
      wire_sockets(static_cast<int>(peer), std::move(wiring_.sockets[peer]));
}

void StreamTransport::wire_sockets(int rank, std::vector<Fd> sockets) {
  has_sockets_ = true;
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  for (const auto& socket : sockets) {
    watch(descriptors_, socket.get(), 0, static_cast<std::uint64_t>(rank));
    peer.sockets.push_back(socket.get());
  }
  peer.events.resize(sockets.size());
  auto stream = std::make_unique<StripedStream>(std::move(sockets));
  peer.stream = stream.get();
  peer.mailbox = std::make_unique<Mailbox>(std::move(stream));
  update_interest(rank);
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
  if (has_sockets_ && somebody_waits_.load(std::memory_order_relaxed)) let_descriptors_wake(false);
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
  let_descriptors_wake(true);
  return !progress_node();  // sockets and links make epoll itself return
}

void StreamTransport::wait(Instant until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  epoll_event events[8];
  somebody_waits_ = true;
  const int count =
      ::epoll_wait(epoll_.get(), events, 8, static_cast<int>(std::clamp<long>(left.count(), 0, 3'600'000)));
  somebody_waits_ = false;
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

// A change ends the wait of another thread if something is there already.
void StreamTransport::let_descriptors_wake(bool wanted) {
  if (descriptors_wake_ == wanted) return;
  descriptors_wake_ = wanted;
  epoll_event event{};
  event.events = wanted ? std::uint32_t{EPOLLIN} : 0;
  event.data.u64 = descriptors_key;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptors_.get(), &event);
}

void StreamTransport::watch(const Fd& set, int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw Error::from_errno(errno, "epoll");
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
  const int count = ::epoll_wait(descriptors_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    if ((key & link_flag) != 0)
      link_event(static_cast<std::size_t>(key & ~link_flag));
    else
      moved = progress_sockets(static_cast<int>(key)) || moved;
  }
  return moved;
}

bool StreamTransport::progress_sockets(int rank) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  try {
    const bool moved = peer.mailbox->progress();
    update_interest(rank);
    if (peer.mailbox->peer_left()) {
      peer.gone = true;
      for (const int socket : peer.sockets) ::epoll_ctl(descriptors_.get(), EPOLL_CTL_DEL, socket, nullptr);
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
  ::epoll_ctl(descriptors_.get(), EPOLL_CTL_DEL, wiring_.links[position].get(), nullptr);
  if (!mailbox(peer).peer_left()) {
    wiring_.segment->set_lost(peer);
    check_lost();
  }
}

void StreamTransport::update_interest(int rank) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.stream == nullptr || peer.gone) return;
  for (std::size_t i = 0; i < peer.sockets.size(); ++i) {
    std::uint32_t wanted = i == peer.stream->next_to_read() ? std::uint32_t{EPOLLIN} : 0;
    if (i == peer.stream->next_to_write() && peer.mailbox->has_unsent()) wanted |= EPOLLOUT;
    if (peer.events[i] == wanted) continue;
    peer.events[i] = wanted;
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = static_cast<std::uint64_t>(rank);
    ::epoll_ctl(descriptors_.get(), EPOLL_CTL_MOD, peer.sockets[i], &event);
  }
}

void StreamTransport::check_lost() const {
  if (!wiring_.segment || wiring_.segment->lost() < 0) return;
  throw Error("rank {} was lost: its process has ended", wiring_.segment->lost());
}

Mailbox& StreamTransport::mailbox(int rank) {
  return *peers_[static_cast<std::size_t>(rank)].mailbox;
}

}  // namespace longship::collective
