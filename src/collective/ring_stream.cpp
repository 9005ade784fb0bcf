// SPDX-License-Identifier: Apache-2.0
#include "ring_stream.h"

#include <algorithm>

#include "copy.h"

namespace longship::collective {
namespace {

// Positions count bytes since the start; the ring's size is a power of two, so that a mask finds the place.
void copy_in(const Ring& ring, std::uint64_t position, std::span<const std::byte> bytes) {
  const std::size_t at = position & (ring.bytes.size() - 1);
  const std::size_t before_end = std::min(bytes.size(), ring.bytes.size() - at);
  copy_bytes(ring.bytes.data() + at, bytes.data(), before_end);
  if (before_end < bytes.size())
    copy_bytes(ring.bytes.data(), bytes.data() + before_end, bytes.size() - before_end);
}

void copy_out(const Ring& ring, std::uint64_t position, std::span<std::byte> bytes) {
  const std::size_t at = position & (ring.bytes.size() - 1);
  const std::size_t before_end = std::min(bytes.size(), ring.bytes.size() - at);
  copy_bytes(bytes.data(), ring.bytes.data() + at, before_end);
  if (before_end < bytes.size())
    copy_bytes(bytes.data() + before_end, ring.bytes.data(), bytes.size() - before_end);
}

}  // namespace

RingStream::RingStream(Segment& segment, int peer)
    : segment_(segment),
      peer_(peer),
      out_(segment.ring(segment.rank(), peer)),
      in_(segment.ring(peer, segment.rank())) {}

std::size_t RingStream::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  const std::size_t wanted = first.size() + second.size();
  const std::uint64_t written = out_.head->written.load(std::memory_order_relaxed);
  const auto space = [&] {
    return out_.bytes.size() - (written - out_.head->read.load(std::memory_order_acquire));
  };
  if (space() < wanted) {
    out_.head->writer_waits.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(
        std::memory_order_seq_cst);  // the reader frees space, fences, looks at writer_waits
  }
  const std::size_t room = space();
  const std::size_t of_first = std::min(room, first.size());
  const std::size_t of_second = std::min(room - of_first, second.size());
  if (of_first + of_second == 0) return 0;
  if (of_first > 0) copy_in(out_, written, first.first(of_first));
  if (of_second > 0) copy_in(out_, written + of_first, second.first(of_second));
  out_.head->written.store(written + of_first + of_second, std::memory_order_release);
  segment_.ring_bell_if_sleeping(peer_);
  return of_first + of_second;
}

std::size_t RingStream::read(std::span<std::byte> buffer) {
  const std::uint64_t read = in_.head->read.load(std::memory_order_relaxed);
  const std::uint64_t available = in_.head->written.load(std::memory_order_acquire) - read;
  const std::size_t taken = std::min<std::size_t>(available, buffer.size());
  if (taken == 0) return 0;
  copy_out(in_, read, buffer.first(taken));
  in_.head->read.store(read + taken, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (in_.head->writer_waits.load(std::memory_order_relaxed) != 0) {
    in_.head->writer_waits.store(0, std::memory_order_relaxed);
    segment_.ring_bell_if_sleeping(peer_);
  }
  return taken;
}

}  // namespace longship::collective
