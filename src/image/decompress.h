// SPDX-License-Identifier: Apache-2.0
// gzip (by ISA-L, four times as fast as zlib), zstd, xz or none of them, found out by looking at the first
// bytes.
#pragma once
#include <memory>

#include "bytes.h"

namespace longship::image {

// Yields what is in it. More than `limit` bytes are an Error: a few kilobytes can otherwise fill any disk.
// Several gzip members, zstd frames or xz streams in a row are one stream, zeros after the last are padding,
// anything else is an Error.
[[nodiscard]] std::unique_ptr<ByteSource> decompress(ByteSource& source, std::uint64_t limit);

}  // namespace longship::image
