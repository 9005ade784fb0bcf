// SPDX-License-Identifier: Apache-2.0
// Answers with the contents of files.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "fuse_answers.h"
#include "fuse_subject.h"

namespace longship::box {
namespace {

void give_part(Subject& file, fuse_ino_t number, std::uint64_t from, std::uint64_t to) {
  std::vector<char> bytes(static_cast<std::size_t>(to - from));
  std::size_t count = bytes.size();
  if (read_content(file.reading->image, file.inode, from, bytes.data(), count) && count == bytes.size())
    file.server.push->give(number, from, std::move(bytes));
}

// Of the blocks that a read began and ended in, what it did not ask for; whole pages, as the kernel keeps
// them.
void give_rest(Subject& file, fuse_ino_t number, std::uint64_t begin, std::uint64_t end) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t block = file.fs()->sb.block_size, size = file.inode.xtra.reg.file_size;
  if (begin >= end || begin % page != 0 || (end % page != 0 && end != size)) return;
  const std::uint64_t first = begin / block * block, last = std::min(size, (end + block - 1) / block * block);
  if (end < last && file.server.push->wants(number, end)) give_part(file, number, end, last);
  if (first < begin && file.server.push->wants(number, first)) give_part(file, number, first, begin);
}

}  // namespace

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  if (server_of(request).refuses_open) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  file->keep_cache = 1;
  fuse_reply_open(request, file);
}

void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Subject file(request, number);
  if (!file) return;
  auto& buffer = file.reading->buffer;
  if (buffer.size() < size) buffer.resize(size);
  const auto begin = static_cast<std::uint64_t>(offset);
  if (!read_content(file.reading->image, file.inode, begin, buffer.data(), size)) {
    fuse_reply_err(request, EIO);
    return;
  }
  fuse_reply_buf(request, buffer.data(), size);
  try {
    file.server.ahead->was_read(file.inode, number, begin, begin + size, file.fs()->sb.block_size);
    give_rest(file, number, begin, begin + size);
  } catch (const std::bad_alloc&) {  // then the kernel has to ask
  }
}

}  // namespace longship::box
