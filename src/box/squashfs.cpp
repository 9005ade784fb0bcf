// SPDX-License-Identifier: Apache-2.0
#include "squashfs.h"

#include <zstd.h>

#include <memory>
#include <new>
#include <utility>

#include "ask_disk.h"
#include "base/error.h"

namespace longship::box {
namespace {

constexpr std::size_t few_blocks = 8;  // a program that starts reads several files in turn

std::string problem(sqfs_err code, sqfs& fs) {
  int major = 0, minor = 0;
  switch (code) {
    case SQFS_BADVERSION:
      sqfs_version(&fs, &major, &minor);
      return fmt::format("SquashFS version {}.{} is not supported, only 4.0 is", major, minor);
    case SQFS_BADCOMP:
      return fmt::format("it is compressed in a way that is not supported (number {})",
                         sqfs_compression(&fs));
    case SQFS_BADFORMAT:
      return "not a SquashFS file";
    default:
      return "it is damaged or cut short";
  }
}

// libsquashfuse makes a context of 160 kB for each block, which takes as long as to decompress a small one.
sqfs_err decompress_zstd(void* in, std::size_t size, void* out, std::size_t* room) {
  thread_local const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                     ZSTD_freeDCtx);
  if (!context) return SQFS_ERR;
  const std::size_t result = ZSTD_decompressDCtx(context.get(), out, *room, in, size);
  if (ZSTD_isError(result)) return SQFS_ERR;
  *room = result;
  return SQFS_OK;
}

void enlarge(sqfs_cache& cache, std::size_t blocks) {
  sqfs_cache_destroy(&cache);
  if (sqfs_block_cache_init(&cache, blocks) != SQFS_OK) throw std::bad_alloc();
}

// The library believes the size of blocks, and makes room for as much.
bool is_possible(const squashfs_super_block& super) {
  return super.block_log >= 12 && super.block_log <= 20 && super.block_size == 1u << super.block_log;
}

}  // namespace

SquashFs::SquashFs(int file, const std::string& name, std::shared_ptr<BlockCache> blocks)
    : blocks_(blocks ? std::move(blocks) : std::make_shared<BlockCache>(few_blocks)) {
  ask_disk_for_tables(file);
  if (const auto code = sqfs_init(&fs_, file, 0); code != SQFS_OK)
    throw Error("cannot read the image {}: {}", name, problem(code, fs_));
  if (!is_possible(fs_.sb)) {
    const Error error("cannot read the image {}: it is damaged: blocks of {} bytes", name, fs_.sb.block_size);
    sqfs_destroy(&fs_);
    throw error;
  }
  if (sqfs_compression(&fs_) == ZSTD_COMPRESSION) fs_.decompressor = decompress_zstd;
  enlarge(fs_.md_cache, 32);
}

}  // namespace longship::box
