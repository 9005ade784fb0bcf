// SPDX-License-Identifier: Apache-2.0
// Memory for a program that lives a millisecond: what is freed is not worth finding again. Without this, the
// C library's care for a few hundred small pieces takes a tenth of a box's start.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace {

constexpr std::size_t alignment = alignof(std::max_align_t);
constexpr std::size_t more = 1u << 20;

alignas(alignment) char first_room[256u << 10];
char* room = first_room;
std::size_t left = sizeof first_room;

void make_room(std::size_t size) {
  const std::size_t wanted = size > more ? size : more;
  void* made = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  room = static_cast<char*>(made);
  left = wanted;
}

}  // namespace

void* operator new(std::size_t size) {
  if (size > PTRDIFF_MAX) throw std::bad_alloc();
  size = (size + alignment - 1) / alignment * alignment;
  if (size > left) make_room(size);
  char* piece = room;
  room += size;
  left -= size;
  return piece;
}

void operator delete(void* piece) noexcept {
  static_cast<void>(piece);
}

void operator delete(void* piece, std::size_t size) noexcept {
  size = (size + alignment - 1) / alignment * alignment;
  if (static_cast<char*>(piece) + size != room) return;
  room -= size;  // the newest piece: a growing text gives back at once
  left += size;
}
