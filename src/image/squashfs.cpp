// SPDX-License-Identifier: Apache-2.0
#include "squashfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "bytes.h"

namespace longship::image {
namespace {

int read_at(sqfs_file_t* base, sqfs_u64 offset, void* buffer, std::size_t size) {
  auto& file = *static_cast<SquashFile*>(base);
  auto* at = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::pread(file.fd, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      file.last_errno = errno;
      return SQFS_ERROR_IO;
    }
    if (got == 0) return SQFS_ERROR_OUT_OF_BOUNDS;
    at += got;
    offset += static_cast<sqfs_u64>(got);
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

int write_at(sqfs_file_t* base, sqfs_u64 offset, const void* buffer, std::size_t size) {
  auto& file = *static_cast<SquashFile*>(base);
  const auto* at = static_cast<const char*>(buffer);
  while (size > 0) {
    const ssize_t put = ::pwrite(file.fd, at, size, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      file.last_errno = errno;
      return SQFS_ERROR_IO;
    }
    at += put;
    offset += static_cast<sqfs_u64>(put);
    size -= static_cast<std::size_t>(put);
  }
  file.size = std::max(file.size, offset);
  return 0;
}

sqfs_u64 get_size(const sqfs_file_t* base) {
  return static_cast<const SquashFile*>(base)->size;
}

int truncate(sqfs_file_t* base, sqfs_u64 size) {
  auto& file = *static_cast<SquashFile*>(base);
  if (::ftruncate(file.fd, static_cast<off_t>(size)) != 0) {
    file.last_errno = errno;
    return SQFS_ERROR_IO;
  }
  file.size = size;
  return 0;
}

std::string_view meaning(int result) {
  switch (result) {
    case SQFS_ERROR_ALLOC:
      return "out of memory";
    case SQFS_ERROR_COMPRESSOR:
      return "the compressor failed";
    case SQFS_ERROR_CORRUPTED:
    case SQFS_ERROR_OUT_OF_BOUNDS:
    case SFQS_ERROR_SUPER_MAGIC:
    case SFQS_ERROR_SUPER_VERSION:
    case SQFS_ERROR_SUPER_BLOCK_SIZE:
      return "it is damaged, or not a SquashFS file";
    case SQFS_ERROR_UNSUPPORTED:
      return "it uses something that is not supported";
    case SQFS_ERROR_OVERFLOW:
      return "a number in it is too large";
    default:
      return "libsquashfs failed";
  }
}

}  // namespace

SquashFile::SquashFile(int number) : sqfs_file_t{}, fd(number), size(0) {
  sqfs_file_t::base.destroy = [](sqfs_object_t*) {};  // the descriptor is not ours
  sqfs_file_t::read_at = image::read_at;
  sqfs_file_t::write_at = image::write_at;
  sqfs_file_t::get_size = image::get_size;
  sqfs_file_t::truncate = image::truncate;
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw Error::from_errno(errno, "cannot look at the SquashFS file");
  size = static_cast<std::uint64_t>(info.st_size);
}

void check(int result, const SquashFile& file, std::string_view doing) {
  if (result >= 0) return;
  if (file.last_errno != 0) throw Error::from_errno(file.last_errno, "{}", doing);
  throw Error("{}: {} ({})", doing, meaning(result), result);
}

bool is_squashfs(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  FileSource file(open_file(path, O_RDONLY));
  char magic[4];
  return read_fully(file, magic, sizeof magic) == sizeof magic &&
         std::string_view(magic, sizeof magic) == "hsqs";
}

Squash<sqfs_compressor_t> make_compressor(SQFS_COMPRESSOR id, std::uint32_t block_size, bool uncompress) {
  sqfs_compressor_config_t config;
  const auto flags = static_cast<sqfs_u16>(uncompress ? SQFS_COMP_FLAG_UNCOMPRESS : 0);
  if (sqfs_compressor_config_init(&config, id, block_size, flags) != 0)
    throw Error("the SquashFS compressor is not known");
  if (id == SQFS_COMP_ZSTD) config.level = 1;  // a twentieth of gzip's time for 7 % more bytes
  sqfs_compressor_t* made = nullptr;
  if (sqfs_compressor_create(&config, &made) != 0)
    throw Error("this libsquashfs has no {} compression", sqfs_compressor_name_from_id(id));
  return Squash<sqfs_compressor_t>(made);
}

}  // namespace longship::image
