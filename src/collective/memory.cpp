// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "limits.h"

namespace longship::collective {
namespace {

constexpr std::uint64_t page = 4096;
// An arena grows by at least this, and then doubles, so that the others seldom have to map it anew.
constexpr std::uint64_t first_growth = std::uint64_t{64} << 20;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* map(int arena, std::uint64_t offset, std::size_t length) {
  void* const mapped =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, arena, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED)
    throw Error::from_errno(errno,
                            "cannot map {} bytes of shared memory (is the limit of address space, "
                            "ulimit -v, too low?)",
                            length);
  ::madvise(mapped, length, MADV_HUGEPAGE);  // where the system has them for shared memory
  return static_cast<std::byte*>(mapped);
}

}  // namespace

Fd Memory::create_arena() {
  Fd arena(::memfd_create("longship-tensors", MFD_CLOEXEC));
  if (!arena) throw Error::from_errno(errno, "cannot make shared memory for tensors");
  return arena;
}

Memory::Memory(std::vector<Fd> arenas, int rank)
    : arenas_(std::move(arenas)), rank_(rank), views_(arenas_.size()), latest_(arenas_.size()) {}

Memory::~Memory() {
  for (const auto& [address, piece] : pieces_) ::munmap(address, piece.length);
  for (const auto& views : views_)
    for (const auto& view : views) ::munmap(view.base, view.length);
}

std::byte* Memory::allocate(std::size_t bytes) {
  const std::size_t length = rounded(std::max<std::size_t>(bytes, 1), page);
  check_memory_groups(length);
  const std::lock_guard lock(mutex_);
  const std::uint64_t offset = take_place(length);
  try {
    std::byte* const address = map(arenas_[static_cast<std::size_t>(rank_)].get(), offset, length);
    pieces_.emplace(address, Piece{offset, length});
    changes_.fetch_add(1, std::memory_order_release);
    return address;
  } catch (...) {
    return_place({offset, length});
    throw;
  }
}

bool Memory::release(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(static_cast<std::byte*>(memory));
  if (found == pieces_.end()) return false;
  const Piece piece = found->second;
  pieces_.erase(found);
  changes_.fetch_add(1, std::memory_order_release);
  ::munmap(memory, piece.length);
  ::fallocate(arenas_[static_cast<std::size_t>(rank_)].get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(piece.offset), static_cast<off_t>(piece.length));
  return_place(piece);
  return true;
}

std::optional<std::uint64_t> Memory::offset_of(const void* data, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::lock_guard lock(mutex_);
  auto found = pieces_.upper_bound(const_cast<std::byte*>(begin));
  if (found == pieces_.begin()) return {};
  --found;
  const auto before = static_cast<std::size_t>(begin - found->first);
  if (before + bytes > found->second.length) return {};
  return found->second.offset + before;
}

std::byte* Memory::of_rank(int rank, std::uint64_t offset, std::size_t bytes) {
  auto& latest = latest_[static_cast<std::size_t>(rank)];
  const View* view = latest.load(std::memory_order_acquire);
  if (view != nullptr && offset + bytes <= view->length) return view->base + offset;
  const std::lock_guard lock(mutex_);
  view = latest.load(std::memory_order_relaxed);  // another thread may have been here
  if (view != nullptr && offset + bytes <= view->length) return view->base + offset;
  const int arena = arenas_[static_cast<std::size_t>(rank)].get();
  struct stat status {};
  if (::fstat(arena, &status) != 0) throw Error::from_errno(errno, "shared memory of another rank");
  const auto length = static_cast<std::uint64_t>(status.st_size);
  if (offset + bytes > length)
    throw Error("shared memory of another rank ends at {}, not {}", length, offset + bytes);
  view = &views_[static_cast<std::size_t>(rank)].emplace_back(View{map(arena, 0, length), length});
  latest.store(view, std::memory_order_release);
  return view->base + offset;
}

// The first free place that is large enough, else at the end of the file.
std::uint64_t Memory::take_place(std::size_t length) {
  const auto fits = [&](const auto& place) { return place.second >= length; };
  auto place = std::find_if(places_.begin(), places_.end(), fits);
  if (place == places_.end()) {
    grow_to(length_ + length);
    place = std::find_if(places_.begin(), places_.end(), fits);
  }
  const auto [offset, free] = *place;
  places_.erase(place);
  if (free > length) places_.emplace(offset + length, free - length);
  return offset;
}

void Memory::return_place(Piece piece) {
  auto next = places_.lower_bound(piece.offset);
  if (next != places_.end() && next->first == piece.offset + piece.length) {
    piece.length += next->second;
    next = places_.erase(next);
  }
  if (next != places_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == piece.offset) {
      before->second += piece.length;
      return;
    }
  }
  places_.emplace(piece.offset, piece.length);
}

void Memory::grow_to(std::uint64_t least) {
  std::uint64_t length = std::max({least, 2 * length_, first_growth});
  if (!within_file_limit(length)) length = least;
  check_file_limit(length);
  if (::ftruncate(arenas_[static_cast<std::size_t>(rank_)].get(), static_cast<off_t>(length)) != 0)
    throw Error::from_errno(errno, "cannot make {} bytes of shared memory", length);
  return_place({length_, length - length_});
  length_ = length;
}

}  // namespace longship::collective
