// SPDX-License-Identifier: Apache-2.0
#include "blob_file.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "bytes.h"

namespace longship::image {

BlobFile::BlobFile(int fd, std::string digest, std::uint64_t size)
    : fd_(fd), digest_(std::move(digest)), size_(size) {
  SharedFileSource there(fd);
  std::vector<char> room(256u << 10);
  for (auto piece = there.take(room); !piece.empty(); piece = there.take(room)) {
    here_ += piece.size();
    if (here_ > size_) {
      restart();
      return;
    }
    hash_.update(piece);
  }
  if (::lseek(fd_, static_cast<off_t>(here_), SEEK_SET) < 0)
    throw Error::from_errno(errno, "cannot write blob {}", digest_);
}

void BlobFile::append(std::string_view piece) {
  if (piece.size() > size_ - here_) {
    restart();
    throw Error("blob {}: more comes than the {} bytes it should have", digest_, size_);
  }
  write_all(fd_, piece);
  hash_.update(piece);
  here_ += piece.size();
}

void BlobFile::restart() {
  if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0)
    throw Error::from_errno(errno, "cannot write blob {}", digest_);
  hash_ = formats::Sha256();
  here_ = 0;
}

bool BlobFile::verify() {
  if (hash_.digest() == digest_) return true;
  restart();
  return false;
}

}  // namespace longship::image
