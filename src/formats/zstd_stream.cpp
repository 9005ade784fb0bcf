// SPDX-License-Identifier: Apache-2.0
#include "zstd_stream.h"

#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <new>

#include "base/error.h"
#include "base/file.h"

namespace longship::formats {
namespace {

constexpr int level = 3;  // source code is small: a better ratio costs more than it saves

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result)) throw Error("zstd: {}", ZSTD_getErrorName(result));
  return result;
}

}  // namespace

void ZstdWriter::Free::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

ZstdWriter::ZstdWriter(int fd) : fd_(fd), context_(ZSTD_createCCtx()), buffer_(ZSTD_CStreamOutSize(), '\0') {
  if (!context_) throw std::bad_alloc();
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
}

void ZstdWriter::write(std::string_view bytes) {
  compress(bytes, false);
}

void ZstdWriter::finish() {
  compress({}, true);
}

void ZstdWriter::compress(std::string_view bytes, bool last) {
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
    const auto left =
        checked(ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue));
    const std::string_view compressed(buffer_.data(), output.pos);
    digest_.update(compressed);
    write_all(fd_, compressed);
    packed_ += compressed.size();
    if (last ? left == 0 : input.pos == input.size) return;
  }
}

void ZstdReader::Free::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

ZstdReader::ZstdReader(int fd) : fd_(fd), context_(ZSTD_createDCtx()), buffer_(ZSTD_DStreamInSize(), '\0') {
  if (!context_) throw std::bad_alloc();
}

std::size_t ZstdReader::read(char* buffer, std::size_t size) {
  ZSTD_outBuffer output{buffer, size, 0};
  while (output.pos < size && !ended_) {
    ZSTD_inBuffer input{buffer_.data(), filled_, at_};
    const auto before = output.pos;
    const auto hint = checked(ZSTD_decompressStream(context_.get(), &output, &input));
    const bool progressed = output.pos > before || input.pos > at_;
    at_ = input.pos;
    if (hint == 0)
      ended_ = true;
    else if (!progressed && !refill())
      throw Error("the archive is cut off");
  }
  return output.pos;
}

void ZstdReader::finish() {
  char one = 0;
  if (read(&one, 1) != 0 || at_ < filled_ || refill())
    throw Error("something follows after the end of the archive");
}

bool ZstdReader::refill() {
  ssize_t count = 0;
  do {
    count = ::read(fd_, buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw Error::from_errno(errno, "cannot read the archive");
  at_ = 0;
  filled_ = static_cast<std::size_t>(count);
  digest_.update({buffer_.data(), filled_});
  return count > 0;
}

}  // namespace longship::formats
