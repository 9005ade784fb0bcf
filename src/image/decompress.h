// SPDX-License-Identifier: Apache-2.0
// gzip (by ISA-L, four times as fast as zlib), zstd, xz or none of them, found out by looking at the first
// bytes.
#pragma once
#include <cstdint>
#include <memory>

#include "bytes.h"

namespace longship::image {

// After the end of what is compressed, or of a tar archive, there may be zeros that fill up a block or a
// record. More are no padding, and whoever reads them would not soon be done.
inline constexpr std::uint64_t most_padding = std::uint64_t{64} << 20;

// Yields what is in it. More than `limit` bytes are an Error: a few kilobytes can otherwise fill any disk.
// Several gzip members, zstd frames or xz streams in a row are one stream, zeros after the last are padding,
// anything else is an Error.
[[nodiscard]] std::unique_ptr<ByteSource> decompress(ByteSource& source, std::uint64_t limit);

}  // namespace longship::image
