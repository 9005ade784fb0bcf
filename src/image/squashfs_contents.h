// SPDX-License-Identifier: Apache-2.0
// What is in the files of a SquashFS file: cut into blocks, compressed by all cores, written in their order.
// What is left of a file after its last whole block, its tail, shares a block with other tails. A file that
// is equal to an earlier one is stored once, and so is a tail.
#pragma once
#include <sqfs/frag_table.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "block_pool.h"
#include "bytes.h"
#include "squashfs.h"
#include "stored_blocks.h"
#include "tree.h"

namespace longship::image {

// Where a tail is.
struct TailPlace {
  std::uint32_t block = 0xffffffff;  // there is none
  std::uint32_t offset = 0;
};

// A file some of whose blocks are still being compressed.
struct StoredFile {
  std::shared_ptr<Inode> inode;
  std::uint64_t size = 0;
  std::vector<std::uint32_t> blocks;  // the size of each as it is stored
  std::uint64_t start = 0;            // of the first
  std::uint64_t zeros = 0;            // bytes in blocks that are not stored
  TailPlace tail;
  int missing = 2;  // its blocks, its tail: what is not in its place yet
};

class SquashfsContents {
 public:
  struct Target {
    SquashFile& file;
    sqfs_compressor_t& compressor;
    sqfs_compressor_t& uncompressor;
    sqfs_frag_table_t& tails;
  };
  SquashfsContents(const Target& target, std::size_t block_size);

  // The inode's data is there when finish() has returned. The size is how much is expected: what comes
  // counts.
  void add(const std::shared_ptr<Inode>& inode, std::uint64_t size, ByteSource& content);
  void finish();

 private:
  void hand_in(const std::shared_ptr<StoredFile>& file, std::unique_ptr<Block> block, bool is_last);
  [[nodiscard]] std::string_view read_behind_tails(ByteSource& content);
  void add_in_blocks(const std::shared_ptr<StoredFile>& file, std::string_view begin, ByteSource& content);
  [[nodiscard]] TailPlace store_tail(std::string_view tail);  // which may be behind the others already
  [[nodiscard]] bool is_at(const TailPlace& place, std::string_view tail);
  [[nodiscard]] const char* stored_tails(std::uint32_t block);  // uncompressed
  void hand_in_tails();
  void written(const Block& block);
  void write_of_file(const Block& block);
  void write_tails(const Block& block);
  [[nodiscard]] std::uint32_t stored_size(const Block& block) const;
  void one_less_missing(StoredFile& file) const;
  void complete(const StoredFile& file) const;
  void require(int result) const;

  Target target_;
  StoredBlocks stored_;
  std::size_t block_size_;
  std::unique_ptr<Block> spare_;  // of a file whose tail has been taken out of it
  std::unique_ptr<Block> tails_;  // being filled
  struct Key {
    std::uint64_t checksum, size;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.checksum ^ key.size; }
  };
  std::unordered_map<Key, TailPlace, Hash> known_tails_;
  std::map<std::uint32_t, const Block*> flying_tails_;  // handed in and not yet written
  std::vector<char> read_back_;
  std::uint32_t read_back_block_ = 0xffffffff;
  BlockPool pool_;  // last: it calls written()
};

}  // namespace longship::image
