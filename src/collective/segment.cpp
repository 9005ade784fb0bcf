// SPDX-License-Identifier: Apache-2.0
#include "segment.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <numeric>

#include "base/error.h"
#include "limits.h"

namespace longship::collective {

// Head, states, ring heads, ring bytes, lanes: each part starts on a page.
struct Segment::Layout {
  explicit Layout(int ranks) : n(static_cast<std::size_t>(ranks)) {
    // Few ranks get large rings; many still fit into address space.
    ring_bytes = std::max<std::size_t>(4096, std::bit_floor((std::size_t{64} << 20) / (n * n + 1)));
    ring_bytes = std::min<std::size_t>(ring_bytes, 256 * 1024);
    states = page;
    heads = states + rounded(n * sizeof(RankState));
    rings = heads + rounded(n * n * sizeof(RingHead));
    lanes = rings + n * n * ring_bytes;
    end = lanes + Lane::count * Lane::bytes_for(n);
  }

  static constexpr std::size_t page = 4096;
  static std::size_t rounded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

  std::size_t n, ring_bytes, states, heads, rings, lanes, end;
};

namespace {

// At the start of the memory: 0 for nobody, else the lost rank + 1.
std::atomic<std::int32_t>& lost_word(std::byte* base) {
  return *reinterpret_cast<std::atomic<std::int32_t>*>(base);
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "atomics are shared between processes");

}  // namespace

Segment::Descriptors Segment::create(int ranks) {
  Descriptors made;
  made.memory = Fd(::memfd_create("longship", MFD_CLOEXEC));
  if (!made.memory) throw Error::from_errno(errno, "cannot make shared memory for {} ranks", ranks);
  check_file_limit(Layout(ranks).end);
  if (::ftruncate(made.memory.get(), static_cast<off_t>(Layout(ranks).end)) != 0)
    throw Error::from_errno(errno, "cannot make {} bytes of shared memory", Layout(ranks).end);
  for (int i = 0; i < ranks; ++i) {
    made.bells.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made.bells.back()) throw Error::from_errno(errno, "cannot make an eventfd");
    made.arenas.push_back(Memory::create_arena());
  }
  return made;
}

std::vector<int> Segment::Descriptors::numbers() const {
  std::vector<int> all = {memory.get()};
  for (const auto& bell : bells) all.push_back(bell.get());
  for (const auto& arena : arenas) all.push_back(arena.get());
  return all;
}

Segment::Descriptors Segment::Descriptors::from(std::vector<Fd> received) {
  Descriptors made;
  const std::size_t ranks = received.size() / 2;
  made.memory = std::move(received.front());
  for (std::size_t i = 0; i < ranks; ++i) {
    made.bells.push_back(std::move(received[1 + i]));
    made.arenas.push_back(std::move(received[1 + ranks + i]));
  }
  return made;
}

Segment::Segment(Descriptors descriptors, int rank)
    : descriptors_(std::move(descriptors)), rank_(rank), length_(Layout(ranks()).end) {
  void* const mapped =
      ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors_.memory.get(), 0);
  if (mapped == MAP_FAILED) throw Error::from_errno(errno, "cannot map {} bytes of shared memory", length_);
  base_ = static_cast<std::byte*>(mapped);
  memory_ = std::make_shared<Memory>(std::move(descriptors_.arenas), rank_);
  all_ranks_.resize(static_cast<std::size_t>(ranks()));
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
}

Segment::~Segment() {
  ::munmap(base_, length_);
}

RankState& Segment::state(int rank) const {
  return reinterpret_cast<RankState*>(base_ + Layout(ranks()).states)[rank];
}

Ring Segment::ring(int from, int to) const {
  const Layout layout(ranks());
  const std::size_t index = static_cast<std::size_t>(from) * layout.n + static_cast<std::size_t>(to);
  return {reinterpret_cast<RingHead*>(base_ + layout.heads) + index,
          {base_ + layout.rings + index * layout.ring_bytes, layout.ring_bytes}};
}

Lane Segment::lane(int number) {
  const Layout layout(ranks());
  std::byte* const start =
      base_ + layout.lanes + static_cast<std::size_t>(number) * Lane::bytes_for(layout.n);
  return Lane::at(start, *this, number, rank_, all_ranks_);
}

void Segment::ring_bell_if_sleeping(int rank) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (state(rank).sleeping.load(std::memory_order_relaxed) != 0) ring_bell(rank);
}

void Segment::ring_if_sleeping(std::span<const int> ranks) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int rank : ranks)
    if (rank != rank_ && state(rank).sleeping.load(std::memory_order_relaxed) != 0) ring_bell(rank);
}

void Segment::ring_bell(int rank) const {
  const std::uint64_t one = 1;
  // A full counter is a bell that rings already.
  [[maybe_unused]] const auto written =
      ::write(descriptors_.bells[static_cast<std::size_t>(rank)].get(), &one, sizeof one);
}

int Segment::own_bell() const {
  return descriptors_.bells[static_cast<std::size_t>(rank_)].get();
}

void Segment::set_lost(int rank) const {
  std::int32_t nobody = 0;
  lost_word(base_).compare_exchange_strong(nobody, rank + 1);
  for (int other = 0; other < ranks(); ++other) ring_bell(other);
}

int Segment::lost() const {
  return lost_word(base_).load(std::memory_order_relaxed) - 1;
}

}  // namespace longship::collective
