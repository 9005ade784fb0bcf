// SPDX-License-Identifier: Apache-2.0
#include "ask_disk.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

extern "C" {
#include <squashfuse/squashfuse.h>
}

namespace longship::box {
namespace {

constexpr std::uint64_t most_of_tables = 8u << 20;  // some hundred thousand files have less
constexpr std::uint64_t one_block = 128u << 10;     // more than most have, compressed

bool is_in_memory(int file, std::uint64_t position) {
  char byte = 0;
  const iovec room = {&byte, 1};
  return ::preadv2(file, &room, 1, static_cast<off_t>(position), RWF_NOWAIT) >= 0;
}

void ask_disk(int file, std::uint64_t offset, std::uint64_t length) {
  ::posix_fadvise(file, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
}

}  // namespace

void ask_disk_around(int image, std::uint64_t position, const ReadAround::Stretch& stretch) {
  if (is_in_memory(image, std::max(position, stretch.offset))) return;
  if (position >= stretch.offset) ask_disk(image, position, one_block);
  ask_disk(image, stretch.offset, stretch.length);
}

void ask_disk_for_tables(int image) {
  squashfs_super_block super = {};
  if (::pread(image, &super, sizeof super, 0) != sizeof super) return;
  const std::uint64_t begin = le64toh(super.inode_table_start), end = le64toh(super.bytes_used);
  if (begin >= end || end >= std::uint64_t{1} << 62 || is_in_memory(image, begin)) return;
  ask_disk(image, begin, std::min(end - begin, most_of_tables));
}

}  // namespace longship::box
