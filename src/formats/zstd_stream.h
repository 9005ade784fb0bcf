// SPDX-License-Identifier: Apache-2.0
// One zstd frame being written to or read from a descriptor, its compressed bytes counted and digested on the
// way.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "digest.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace longship::formats {

class ZstdWriter {
 public:
  explicit ZstdWriter(int fd);
  void write(std::string_view bytes);
  void finish();  // ends the frame
  [[nodiscard]] std::uint64_t packed() const { return packed_; }
  [[nodiscard]] std::string digest() { return digest_.digest(); }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  void compress(std::string_view bytes, bool last);

  int fd_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string buffer_;
  std::uint64_t packed_ = 0;
  Sha256 digest_;
};

class ZstdReader {
 public:
  explicit ZstdReader(int fd);
  // Fills the buffer, or less if the frame ends. A file that ends within its frame is an Error.
  [[nodiscard]] std::size_t read(char* buffer, std::size_t size);
  void finish();  // an Error if the frame has not ended, or anything follows it
  [[nodiscard]] std::string digest() { return digest_.digest(); }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  bool refill();  // false at the end of the file

  int fd_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string buffer_;
  std::size_t at_ = 0, filled_ = 0;
  bool ended_ = false;
  Sha256 digest_;
};

}  // namespace longship::formats
