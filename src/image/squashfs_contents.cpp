// SPDX-License-Identifier: Apache-2.0
#include "squashfs_contents.h"

#include <sqfs/block.h>
#include <sqfs/inode.h>

#include <cstdlib>
#include <cstring>
#include <span>

#include "base/error.h"

namespace longship::image {
namespace {

constexpr std::uint32_t no_block = 0xffffffff;
constexpr std::uint32_t stored_as_it_is = 1u << 24;  // SquashFS' mark beside a block's size

// Fills the room as far as there is something; returns how far.
std::size_t fill(std::span<char> room, ByteSource& content) {
  std::size_t filled = 0;
  while (filled < room.size()) {
    const auto left = room.subspan(filled);
    const auto bytes = content.take(left);
    if (bytes.empty()) break;
    if (bytes.data() != left.data()) std::memcpy(left.data(), bytes.data(), bytes.size());
    filled += bytes.size();
  }
  return filled;
}

// What is left of the block; false if the content has ended.
bool fill(Block& block, ByteSource& content) {
  block.size += fill(std::span(block.bytes).subspan(block.size), content);
  return block.size == block.bytes.size();
}

std::string_view bytes_of(const Block& block) {
  return {block.bytes.data(), block.size};
}

}  // namespace

SquashfsContents::SquashfsContents(const Target& target, std::size_t block_size)
    : target_(target),
      stored_(target.file),
      block_size_(block_size),
      pool_(target.compressor, block_size, [this](const Block& block) { written(block); }) {}

void SquashfsContents::require(int result) const {
  check(result, target_.file, "cannot write the SquashFS file");
}

void SquashfsContents::add(const std::shared_ptr<Inode>& inode, std::uint64_t size, ByteSource& content) {
  const auto file = std::make_shared<StoredFile>();
  file->inode = inode;
  const bool fits = tails_ != nullptr && size < block_size_ - tails_->size;
  const std::string_view begin = fits ? read_behind_tails(content) : std::string_view();
  if (fits && tails_->size + begin.size() < block_size_) {
    file->size = begin.size();
    one_less_missing(*file);  // it has no blocks
    if (!begin.empty()) file->tail = store_tail(begin);
    one_less_missing(*file);
  } else {
    add_in_blocks(file, begin, content);
  }
}

// Most files are small. What ends before the block does is where it belongs already.
std::string_view SquashfsContents::read_behind_tails(ByteSource& content) {
  const auto room = std::span(tails_->bytes).subspan(tails_->size);
  return {room.data(), fill(room, content)};
}

// A whole block is handed in when it is known whether another one follows it.
void SquashfsContents::add_in_blocks(const std::shared_ptr<StoredFile>& file, std::string_view begin,
                                     ByteSource& content) {
  std::unique_ptr<Block> whole, block = spare_ != nullptr ? std::move(spare_) : pool_.take();
  begin.copy(block->bytes.data(), begin.size());
  block->size = begin.size();
  while (fill(*block, content)) {
    if (whole != nullptr) hand_in(file, std::move(whole), false);
    whole = std::move(block);
    block = pool_.take();
  }
  file->size = file->blocks.size() * block_size_ + (whole != nullptr ? block_size_ : 0) + block->size;
  // Before the tail: with it a block of tails may be handed in, and the blocks of a file lie in one row.
  if (whole != nullptr)
    hand_in(file, std::move(whole), true);
  else
    one_less_missing(*file);
  if (block->size > 0) file->tail = store_tail(bytes_of(*block));
  one_less_missing(*file);
  block->size = 0;
  spare_ = std::move(block);
}

void SquashfsContents::hand_in(const std::shared_ptr<StoredFile>& file, std::unique_ptr<Block> block,
                               bool is_last) {
  block->file = file;
  block->number = file->blocks.size();
  block->is_last = is_last;
  file->blocks.push_back(0);
  pool_.hand_in(std::move(block));
}

TailPlace SquashfsContents::store_tail(std::string_view tail) {
  const Key key{checksum_of(tail.data(), tail.size()), tail.size()};
  const auto known = known_tails_.find(key);
  if (known != known_tails_.end() && is_at(known->second, tail)) return known->second;
  if (tails_ != nullptr && tails_->size + tail.size() > block_size_) hand_in_tails();
  if (tails_ == nullptr) {
    tails_ = pool_.take();
    sqfs_u32 number = 0;
    require(sqfs_frag_table_append(&target_.tails, 0, 0, &number));
    tails_->number = number;
  }
  const TailPlace place{static_cast<std::uint32_t>(tails_->number), static_cast<std::uint32_t>(tails_->size)};
  char* const end = tails_->bytes.data() + tails_->size;
  if (tail.data() != end) std::memcpy(end, tail.data(), tail.size());
  tails_->size += tail.size();
  if (known == known_tails_.end()) known_tails_.emplace(key, place);
  return place;
}

bool SquashfsContents::is_at(const TailPlace& place, std::string_view tail) {
  const char* bytes = nullptr;
  if (tails_ != nullptr && tails_->number == place.block) {
    bytes = tails_->bytes.data();
  } else if (const auto flying = flying_tails_.find(place.block); flying != flying_tails_.end()) {
    bytes = flying->second->bytes.data();
  } else {
    bytes = stored_tails(place.block);
  }
  return std::memcmp(bytes + place.offset, tail.data(), tail.size()) == 0;
}

const char* SquashfsContents::stored_tails(std::uint32_t block) {
  if (read_back_block_ == block) return read_back_.data();
  read_back_block_ = no_block;
  sqfs_fragment_t where{};
  require(sqfs_frag_table_lookup(&target_.tails, block, &where));
  const std::uint32_t size = where.size & ~stored_as_it_is;
  std::vector<char> packed(size);
  read_back_.assign(block_size_, 0);
  require(target_.file.read_at(&target_.file, where.start_offset, packed.data(), size));
  if ((where.size & stored_as_it_is) != 0) {
    read_back_ = packed;
  } else {
    require(target_.uncompressor.do_block(
        &target_.uncompressor, reinterpret_cast<const sqfs_u8*>(packed.data()), size,
        reinterpret_cast<sqfs_u8*>(read_back_.data()), static_cast<sqfs_u32>(read_back_.size())));
  }
  read_back_block_ = block;
  return read_back_.data();
}

void SquashfsContents::hand_in_tails() {
  flying_tails_.emplace(static_cast<std::uint32_t>(tails_->number), tails_.get());
  pool_.hand_in(std::move(tails_));
}

void SquashfsContents::finish() {
  if (tails_ != nullptr) hand_in_tails();
  pool_.finish();
}

void SquashfsContents::written(const Block& block) {
  if (!block.is_zero) require(block.packed_size);
  if (block.file != nullptr)
    write_of_file(block);
  else
    write_tails(block);
}

void SquashfsContents::write_of_file(const Block& block) {
  auto& file = *block.file;
  if (block.number == 0) stored_.begin_row();
  if (block.is_zero) {
    file.zeros += block.size;
  } else {
    stored_.append(block.stored(), block.checksum);
    file.blocks[block.number] = stored_size(block);
  }
  if (!block.is_last) return;
  file.start = stored_.end_row();
  one_less_missing(file);
}

void SquashfsContents::write_tails(const Block& block) {
  const auto number = static_cast<std::uint32_t>(block.number);
  const std::uint64_t place = stored_.append(block.stored(), block.checksum);
  require(sqfs_frag_table_set(&target_.tails, number, place, stored_size(block)));
  flying_tails_.erase(number);
}

std::uint32_t SquashfsContents::stored_size(const Block& block) const {
  return block.packed_size > 0 ? static_cast<std::uint32_t>(block.packed_size)
                               : static_cast<std::uint32_t>(block.size) | stored_as_it_is;
}

void SquashfsContents::one_less_missing(StoredFile& file) const {
  if (--file.missing == 0) complete(file);
}

void SquashfsContents::complete(const StoredFile& file) const {
  const std::size_t payload = file.blocks.size() * sizeof(std::uint32_t);
  auto* inode = static_cast<sqfs_inode_generic_t*>(std::calloc(1, sizeof(sqfs_inode_generic_t) + payload));
  if (inode == nullptr) throw std::bad_alloc();
  file.inode->data = inode;  // the owner from now on
  inode->base.type = SQFS_INODE_FILE;
  inode->payload_bytes_available = inode->payload_bytes_used = static_cast<sqfs_u32>(payload);
  if (payload > 0) std::memcpy(inode->extra, file.blocks.data(), payload);
  require(sqfs_inode_set_file_size(inode, file.size));
  require(sqfs_inode_set_file_block_start(inode, file.start));
  require(sqfs_inode_set_frag_location(inode, file.tail.block, file.tail.offset));
  if (file.zeros == 0) return;
  require(sqfs_inode_make_extended(inode));
  inode->data.file_ext.sparse = file.zeros;
}

}  // namespace longship::image
