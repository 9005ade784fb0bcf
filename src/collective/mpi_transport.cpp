// SPDX-License-Identifier: Apache-2.0
#include "mpi_transport.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace longship::collective {
namespace {

constexpr std::size_t longest_short = 8 * 1024;
constexpr int inbox_count = 8;

// MPI promises no tag above 32767. Two messages of one tag would have to be 16,384 apart to be confused.
constexpr int header_tag = 1;
constexpr int first_body_tag = 2;
constexpr std::uint64_t body_tags = 16'384;

constexpr int shortest_pause = 20, longest_pause = 2'000;  // microseconds

}  // namespace

MpiTransport::MpiTransport(const longship_mpi_calls& calls, int rank, int size)
    : Transport(rank, size),
      calls_(calls),
      peers_(static_cast<std::size_t>(size)),
      waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      pause_microseconds_(shortest_pause) {
  check(calls_.open());
  if (size == 1) return;
  for (int i = 0; i < inbox_count; ++i) open(inboxes_.emplace_back());
}

MpiTransport::~MpiTransport() {
  for (const auto& inbox : inboxes_) calls_.forget(inbox.request);
  // What MPI may still read must not be freed; this happens only to who goes without leaving.
  if (!transfers_.empty()) static_cast<void>(new std::list<Transfer>(std::move(transfers_)));
  calls_.close();
}

void MpiTransport::check(int code) const {
  if (code == 0) return;
  char words[256];
  calls_.text(code, words, sizeof words);
  throw Error("MPI: {}", words);
}

void MpiTransport::open(Inbox& inbox) {
  inbox.buffer.resize(sizeof(Header) + longest_short);
  check(
      calls_.receive(LONGSHIP_MPI_ANY, header_tag, inbox.buffer.data(), inbox.buffer.size(), &inbox.request));
}

void MpiTransport::send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) {
  auto& peer = peers_[static_cast<std::size_t>(to)];
  const bool is_short = bytes.size() <= longest_short;
  const Header header{tag, bytes.size(), is_short ? 0 : peer.long_sent++};
  auto& transfer = transfers_.emplace_back();
  transfer.packet.resize(sizeof header + (is_short ? bytes.size() : 0));
  std::memcpy(transfer.packet.data(), &header, sizeof header);
  if (is_short) std::copy(bytes.begin(), bytes.end(), transfer.packet.begin() + sizeof header);
  check(calls_.send(to, header_tag, transfer.packet.data(), transfer.packet.size(),
                    &transfer.requests.emplace_back()));
  if (is_short) {
    completion = {true, bytes.size()};  // it was copied
    return;
  }
  transfer.completion = &completion;
  begin_body(transfer, to, header, const_cast<std::byte*>(bytes.data()), true);
}

void MpiTransport::receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) {
  auto& peer = peers_[static_cast<std::size_t>(from)];
  const Expected expected{tag, buffer, &completion};
  const auto found = std::find_if(peer.arrived.begin(), peer.arrived.end(),
                                  [&](const Arrived& message) { return message.header.tag == tag; });
  if (found == peer.arrived.end()) {
    peer.expected.push_back(expected);
    return;
  }
  const Arrived message = std::move(*found);
  peer.arrived.erase(found);
  deliver(from, message.header, message.bytes, expected);
}

bool MpiTransport::progress() {
  const bool received = empty_inboxes();
  const bool moved = move_transfers() || received;
  if (moved) pause_microseconds_ = shortest_pause;
  return moved;
}

void MpiTransport::wait(Instant until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(until - std::chrono::steady_clock::now());
  const auto pause = std::clamp<std::int64_t>(left.count(), 0, pause_microseconds_);
  pause_microseconds_ = std::min(pause_microseconds_ * 2, longest_pause);
  pollfd woken{waker_.get(), POLLIN, 0};
  const timespec time{0, static_cast<long>(pause * 1000)};
  if (::ppoll(&woken, 1, &time, nullptr) <= 0) return;
  std::uint64_t count = 0;
  static_cast<void>(::read(waker_.get(), &count, sizeof count));
}

void MpiTransport::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(waker_.get(), &one, sizeof one));
}

bool MpiTransport::leave() {
  move_transfers();
  return transfers_.empty();
}

void MpiTransport::block() {
  std::vector<longship_mpi_request*> all;
  if (!inboxes_.empty()) all.push_back(inboxes_.front().request);
  for (const auto& transfer : transfers_)
    all.insert(all.end(), transfer.requests.begin(), transfer.requests.end());
  if (!all.empty()) check(calls_.wait_any(all.data(), static_cast<int>(all.size())));
}

bool MpiTransport::empty_inboxes() {
  bool moved = false;
  while (!inboxes_.empty()) {
    int done = 0, from = 0;
    std::size_t bytes = 0;
    check(calls_.test(inboxes_.front().request, &done, &from, &bytes));
    if (done == 0) break;
    moved = true;
    Inbox inbox = std::move(inboxes_.front());
    inboxes_.pop_front();
    take_in(from, std::span(inbox.buffer).first(bytes));
    inboxes_.push_back(std::move(inbox));
    open(inboxes_.back());
  }
  return moved;
}

void MpiTransport::take_in(int from, std::span<const std::byte> packet) {
  Header header;
  if (packet.size() < sizeof header)
    throw Error("rank {} sent {} bytes that are no message", from, packet.size());
  std::memcpy(&header, packet.data(), sizeof header);
  const auto bytes = packet.subspan(sizeof header);
  auto& peer = peers_[static_cast<std::size_t>(from)];
  const auto found = std::find_if(peer.expected.begin(), peer.expected.end(),
                                  [&](const Expected& one) { return one.tag == header.tag; });
  if (found == peer.expected.end()) {
    peer.arrived.push_back({header, {bytes.begin(), bytes.end()}});
    return;
  }
  const Expected expected = *found;
  peer.expected.erase(found);
  deliver(from, header, bytes, expected);
}

void MpiTransport::deliver(int from, const Header& header, std::span<const std::byte> bytes,
                           const Expected& to) {
  if (header.length > to.buffer.size())
    throw Error("a message of {} bytes came for a buffer of {}", header.length, to.buffer.size());
  if (header.length <= longest_short) {
    std::copy(bytes.begin(), bytes.end(), to.buffer.begin());
    *to.completion = {true, bytes.size()};
    return;
  }
  auto& transfer = transfers_.emplace_back();
  transfer.completion = to.completion;
  begin_body(transfer, from, header, to.buffer.data(), false);
}

// In as many MPI messages as its counts make necessary; they stay in order.
void MpiTransport::begin_body(Transfer& transfer, int peer, const Header& header, std::byte* data,
                              bool sending) {
  const int tag = first_body_tag + static_cast<int>(header.number % body_tags);
  transfer.bytes = static_cast<std::size_t>(header.length);
  for (std::size_t at = 0; at < transfer.bytes; at += LONGSHIP_MPI_LONGEST) {
    const std::size_t length = std::min(LONGSHIP_MPI_LONGEST, transfer.bytes - at);
    auto** const request = &transfer.requests.emplace_back();
    check(sending ? calls_.send(peer, tag, data + at, length, request)
                  : calls_.receive(peer, tag, data + at, length, request));
  }
}

bool MpiTransport::move_transfers() {
  bool moved = false;
  for (auto transfer = transfers_.begin(); transfer != transfers_.end();) {
    moved = move(*transfer) || moved;
    transfer = transfer->requests.empty() ? transfers_.erase(transfer) : std::next(transfer);
  }
  return moved;
}

bool MpiTransport::move(Transfer& transfer) {
  const auto is_done = [&](longship_mpi_request* request) {
    int done = 0, from = 0;
    std::size_t bytes = 0;
    check(calls_.test(request, &done, &from, &bytes));
    return done != 0;
  };
  if (std::erase_if(transfer.requests, is_done) == 0) return false;
  if (transfer.requests.empty() && transfer.completion != nullptr)
    *transfer.completion = {true, transfer.bytes};
  return true;
}

}  // namespace longship::collective
