// SPDX-License-Identifier: Apache-2.0
#include "checked_squashfs.h"

#include <endian.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace longship::box {
namespace {

constexpr std::uint64_t metadata_block = 8192;

// Nothing lies in the superblock; the library's caches take position 0 for a free place.
bool is_position(std::uint64_t at) {
  return at >= sizeof(squashfs_super_block) && at < std::uint64_t{1} << 62;
}

// Whether metadata can be read from here on. Further blocks are then read from their beginnings.
bool is_within(sqfs& image, const sqfs_md_cursor& cursor) {
  if (!is_position(static_cast<std::uint64_t>(cursor.block))) return false;
  sqfs_off_t at = cursor.block;
  sqfs_block* block = nullptr;
  return sqfs_md_cache(&image, &at, &block) == SQFS_OK && cursor.offset < block->size;
}

sqfs_md_cursor list_of(const sqfs& image, const sqfs_inode& directory, std::uint64_t block,
                       std::uint64_t skipped) {
  sqfs_md_cursor cursor = {};
  cursor.block = static_cast<sqfs_off_t>(image.sb.directory_table_start + block);
  cursor.offset = static_cast<std::size_t>((directory.xtra.dir.offset + skipped) % metadata_block);
  return cursor;
}

// A large directory has an index, by which the library jumps into its list.
bool has_good_index(sqfs& image, const sqfs_inode& directory) {
  sqfs_md_cursor cursor = directory.next;
  for (unsigned left = directory.xtra.dir.idx_count; left > 0; --left) {
    squashfs_dir_index entry = {};
    if (sqfs_md_read(&image, &cursor, &entry, sizeof entry) != SQFS_OK) return false;
    const std::uint32_t length = le32toh(entry.size);
    if (length >= SQUASHFS_NAME_LEN || sqfs_md_read(&image, &cursor, nullptr, length + 1) != SQFS_OK)
      return false;
    if (!is_within(image, list_of(image, directory, le32toh(entry.start_block), le32toh(entry.index))))
      return false;
  }
  return true;
}

bool is_good_directory(SquashFs& image, const sqfs_inode& inode, bool by_index) {
  // The size counts three bytes that are not there; an empty directory has no list.
  if (!S_ISDIR(inode.base.mode) || inode.xtra.dir.dir_size < 3) return false;
  if (inode.xtra.dir.dir_size == 3) return true;
  sqfs& fs = *image.get();
  if (inode.xtra.dir.offset >= metadata_block ||
      !is_within(fs, list_of(fs, inode, inode.xtra.dir.start_block, 0)))
    return false;
  if (!by_index || inode.xtra.dir.idx_count == 0) return true;
  const std::uint64_t place = static_cast<std::uint64_t>(inode.next.block) << 16 | inode.next.offset;
  if (image.good_indexes.contains(place)) return true;
  if (!has_good_index(fs, inode)) return false;
  image.good_indexes.insert(place);
  return true;
}

// Where a part of a file's content lies.
struct Piece {
  std::uint64_t block = 0;           // its position; 0: nowhere, it is zeros
  std::uint32_t header = 0;          // of the block
  std::size_t offset = 0, size = 0;  // in the block, unpacked
};

// The end of a file, which shares a block with the ends of others.
bool find_tail(sqfs& image, const sqfs_inode& inode, Piece& piece) {
  const std::uint64_t place = std::uint64_t{inode.xtra.reg.frag_idx} * sizeof(squashfs_fragment_entry);
  if (inode.xtra.reg.frag_idx >= image.sb.fragments || image.frag_table.blocks == nullptr) return false;
  sqfs_md_cursor last = {};  // byte of the table's entry
  last.block = static_cast<sqfs_off_t>(image.frag_table.blocks[place / metadata_block]);
  last.offset = static_cast<std::size_t>(place % metadata_block + sizeof(squashfs_fragment_entry) - 1);
  squashfs_fragment_entry entry = {};
  if (!is_within(image, last) || sqfs_frag_entry(&image, &entry, inode.xtra.reg.frag_idx) != SQFS_OK)
    return false;
  piece = {.block = entry.start_block,
           .header = entry.size,
           .offset = inode.xtra.reg.frag_off,
           .size = static_cast<std::size_t>(inode.xtra.reg.file_size % image.sb.block_size)};
  return is_position(entry.start_block);
}

bool find_block(const sqfs& image, const sqfs_inode& inode, const sqfs_blocklist& list, Piece& piece) {
  piece.size = std::min<std::uint64_t>(image.sb.block_size, inode.xtra.reg.file_size - list.pos);
  if (list.input_size == 0) return true;  // a hole
  piece.block = list.block;
  piece.header = list.header;
  return is_position(list.block);
}

// A file's content, piece by piece.
class Pieces {
 public:
  Pieces(sqfs& image, sqfs_inode& inode) : image_(image), inode_(inode) {}

  bool begin_at(std::uint64_t start) {
    return sqfs_blockidx_blocklist(&image_, &inode_, &list_, static_cast<sqfs_off_t>(start)) == SQFS_OK &&
           (list_.remain == 0 || is_within(image_, list_.cur));  // where an index of its own led
  }

  // The one in which this byte is, which lies behind those that were asked for before.
  bool find(std::uint64_t at, Piece& piece) {
    while (list_.remain > 0) {
      if (sqfs_blocklist_next(&list_) != SQFS_OK || list_.pos > at) return false;
      if (list_.pos + image_.sb.block_size > at) return find_block(image_, inode_, list_, piece);
    }
    return inode_.xtra.reg.frag_idx != SQUASHFS_INVALID_FRAG && find_tail(image_, inode_, piece);
  }

 private:
  sqfs& image_;
  sqfs_inode& inode_;
  sqfs_blocklist list_ = {};
};

bool copy(SquashFs& image, const Piece& piece, std::size_t skipped, char* into, std::size_t count) {
  if (piece.block == 0) {
    std::memset(into, 0, count);
    return true;
  }
  const auto block = image.blocks().get(*image.get(), piece.block, piece.header);
  if (!block || piece.offset > block->size || piece.size > block->size - piece.offset) return false;
  std::memcpy(into, static_cast<const char*>(block->data) + piece.offset + skipped, count);
  return true;
}

}  // namespace

bool get_inode(SquashFs& from, sqfs_inode_id id, sqfs_inode& inode) {
  sqfs& image = *from.get();
  sqfs_md_cursor cursor = {};
  sqfs_md_cursor_inode(&cursor, id, static_cast<sqfs_off_t>(image.sb.inode_table_start));
  return is_within(image, cursor) && sqfs_inode_get(&image, &inode, id) == SQFS_OK;
}

bool open_directory(SquashFs& image, sqfs_inode& inode, sqfs_off_t offset, sqfs_dir& walk) {
  return is_good_directory(image, inode, offset > 0) &&
         sqfs_dir_open(image.get(), &inode, &walk, offset) == SQFS_OK;
}

bool look_up(SquashFs& image, sqfs_inode& inode, std::string_view name, DirectoryEntry& entry, bool& found) {
  found = false;
  return is_good_directory(image, inode, true) &&
         sqfs_dir_lookup(image.get(), &inode, name.data(), name.size(), entry.get(), &found) == SQFS_OK;
}

bool read_content(SquashFs& from, sqfs_inode& inode, std::uint64_t start, char* into, std::size_t& size) {
  sqfs& image = *from.get();
  const std::uint64_t end = S_ISREG(inode.base.mode) ? inode.xtra.reg.file_size : 0;
  const std::size_t wanted =
      start < end ? static_cast<std::size_t>(std::min<std::uint64_t>(size, end - start)) : 0;
  size = 0;
  if (wanted == 0) return S_ISREG(inode.base.mode);
  Pieces pieces(image, inode);
  if (!pieces.begin_at(start)) return false;
  while (size < wanted) {
    const std::uint64_t at = start + size;
    const auto skipped = static_cast<std::size_t>(at % image.sb.block_size);
    Piece piece;
    if (!pieces.find(at, piece) || skipped >= piece.size) return false;
    const std::size_t count = std::min(piece.size - skipped, wanted - size);
    if (!copy(from, piece, skipped, into + size, count)) return false;
    size += count;
  }
  return true;
}

bool prepare_content(SquashFs& from, sqfs_inode& inode, std::uint64_t start) {
  if (!S_ISREG(inode.base.mode) || start >= inode.xtra.reg.file_size) return false;
  Pieces pieces(*from.get(), inode);
  Piece piece;
  if (!pieces.begin_at(start) || !pieces.find(start, piece)) return false;
  if (piece.block != 0) from.blocks().prepare(*from.get(), piece.block, piece.header);
  return true;
}

}  // namespace longship::box
