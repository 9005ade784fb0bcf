// SPDX-License-Identifier: Apache-2.0
// What reading and writing SquashFS files share: owners for libsquashfs' objects, its errors as ours.
#pragma once
#include <sqfs/compressor.h>
#include <sqfs/error.h>
#include <sqfs/io.h>
#include <sqfs/predef.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/fd.h"

namespace longship::image {

struct SquashDestroy {
  void operator()(void* object) const { sqfs_destroy(object); }
};
template <class Object>
using Squash = std::unique_ptr<Object, SquashDestroy>;

// An open file as libsquashfs wants it. Unlike the library's own it keeps errno, so that a full disk can be
// named.
struct SquashFile : sqfs_file_t {
  explicit SquashFile(int fd);
  int fd;
  std::uint64_t size;
  int last_errno = 0;
};

// Throws for a negative result or a null object, with errno's text if the file failed.
void check(int result, const SquashFile& file, std::string_view doing);

// Whether it begins as one. What is no regular file is not opened: a pipe would wait for who writes.
[[nodiscard]] bool is_squashfs(const std::filesystem::path& path);

[[nodiscard]] Squash<sqfs_compressor_t> make_compressor(SQFS_COMPRESSOR id, std::uint32_t block_size,
                                                        bool uncompress);

}  // namespace longship::image
