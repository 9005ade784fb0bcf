// SPDX-License-Identifier: Apache-2.0
// A blob on its way into a file: what is there already counts as its beginning, and the whole is compared
// with its digest at the end. So a transfer goes on where another broke off, in this process or an earlier
// one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/digest.h"

namespace longship::image {

class BlobFile {
 public:
  // `fd`: open for reading and writing. What is in it is read, and thrown away if it is more than the blob
  // has.
  BlobFile(int fd, std::string digest, std::uint64_t size);

  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // that it should have
  [[nodiscard]] std::uint64_t here() const { return here_; }
  [[nodiscard]] bool is_complete() const { return here_ == size_; }

  void append(
      std::string_view piece);  // one byte more than it should have is an Error, and all is thrown away
  void restart();               // from nothing
  // Of a complete one: whether it is the blob; if not, all is thrown away.
  [[nodiscard]] bool verify();

 private:
  int fd_;
  std::string digest_;
  std::uint64_t size_, here_ = 0;
  formats::Sha256 hash_;
};

}  // namespace longship::image
