// SPDX-License-Identifier: Apache-2.0
#include "decompress.h"

#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace longship::image {
namespace {

constexpr std::string_view gzip_magic("\x1f\x8b", 2);
constexpr std::string_view zstd_magic("\x28\xb5\x2f\xfd", 4);
constexpr std::string_view xz_magic("\xfd\x37zXZ\0", 6);
constexpr std::uint64_t most_memory_for_xz = 96u << 20;  // its highest ordinary level, 9, takes 65 MiB

void refuse_more_padding(std::uint64_t zeros) {
  if (zeros > most_padding)
    throw Error("more than {} MiB of zeros follow the compressed data", most_padding >> 20);
}

// Compressed bytes, of which the next few can be looked at.
class Input {
 public:
  explicit Input(ByteSource& source) : source_(source), buffer_(256 * 1024) {}

  [[nodiscard]] std::string_view available() const { return left_; }
  void consume(std::size_t count) { left_.remove_prefix(count); }
  // More bytes behind those that are left; false at the end.
  bool more() {
    const std::size_t before = left_.size();
    if (before == 0) {
      left_ = source_.take(buffer_);
    } else {
      std::memmove(buffer_.data(), left_.data(), before);
      left_ = {buffer_.data(), before + source_.read(buffer_.data() + before, buffer_.size() - before)};
    }
    return left_.size() > before;
  }
  [[nodiscard]] bool starts_with(std::string_view magic) {
    while (available().size() < magic.size() && more()) {
    }
    return available().starts_with(magic);
  }
  // Only zeros up to the end, and not too many.
  void expect_padding() {
    std::uint64_t zeros = 0;
    do {
      const auto rest = available();
      refuse_more_padding(zeros += rest.size());
      if (std::any_of(rest.begin(), rest.end(), [](char c) { return c != 0; }))
        throw Error("there is something else after the compressed data");
      consume(rest.size());
    } while (more());
  }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  std::string_view left_;  // in the buffer, or where the source has them
};

class Plain final : public ByteSource {
 public:
  explicit Plain(Input input) : input_(std::move(input)) {}
  std::size_t read(char* into, std::size_t size) override {
    if (input_.available().empty() && !input_.more()) return 0;
    const std::size_t count = std::min(size, input_.available().size());
    std::memcpy(into, input_.available().data(), count);
    input_.consume(count);
    return count;
  }

 private:
  Input input_;
};

class Gzip final : public ByteSource {
 public:
  explicit Gzip(Input input) : input_(std::move(input)), state_(std::make_unique<inflate_state>()) {
    start();
  }

  std::size_t read(char* into, std::size_t size) override {
    const std::size_t wanted = std::min<std::size_t>(size, 1u << 30);
    while (!done_) {
      if (input_.available().empty() && !input_.more() && state_->block_state != ISAL_BLOCK_FINISH)
        throw Error("the gzip data is truncated");
      if (const std::size_t made = inflate(into, wanted)) return made;
    }
    return 0;
  }

 private:
  void start() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;  // header and trailer are there, and are checked
  }

  std::size_t inflate(char* into, std::size_t size) {
    const auto bytes = input_.available();
    // The library's field is not const, but it only reads.
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    state_->avail_in = static_cast<std::uint32_t>(bytes.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(into);
    state_->avail_out = static_cast<std::uint32_t>(size);
    const int result = isal_inflate(state_.get());
    if (result == ISAL_INCORRECT_CHECKSUM)
      throw Error("the gzip data is damaged: its checksum does not match");
    if (result < 0 || result == ISAL_NEED_DICT) throw Error("the gzip data is damaged");
    input_.consume(bytes.size() - state_->avail_in);
    if (state_->block_state == ISAL_BLOCK_FINISH) next_member();
    return size - state_->avail_out;
  }

  void next_member() {
    const auto made = state_->avail_out;
    if (input_.starts_with(gzip_magic)) {
      start();
    } else {
      input_.expect_padding();
      done_ = true;
    }
    state_->avail_out = made;
  }

  Input input_;
  std::unique_ptr<inflate_state> state_;
  bool done_ = false;
};

class Zstd final : public ByteSource {
 public:
  explicit Zstd(Input input) : input_(std::move(input)), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax,
                           27);  // 128 MiB: what zstd itself takes by default
  }

  std::size_t read(char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (at_frame_start_ && !input_.starts_with(zstd_magic)) {
        input_.expect_padding();
        return 0;
      }
      if (input_.available().empty() && !input_.more() && !pending_output_)
        throw Error("the zstd data is truncated");
      ZSTD_inBuffer in{input_.available().data(), input_.available().size(), 0};
      const std::size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(result)) throw Error("the zstd data is damaged: {}", ZSTD_getErrorName(result));
      input_.consume(in.pos);
      at_frame_start_ = result == 0;
      pending_output_ = out.pos == out.size && result != 0;
    }
    return out.pos;
  }

 private:
  Input input_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool at_frame_start_ = true;
  bool pending_output_ = false;
};

class Xz final : public ByteSource {
 public:
  explicit Xz(Input input) : input_(std::move(input)) {
    if (lzma_stream_decoder(&stream_, most_memory_for_xz, LZMA_CONCATENATED) != LZMA_OK)
      throw std::bad_alloc();
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() override { lzma_end(&stream_); }

  std::size_t read(char* into, std::size_t size) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(into);
    stream_.avail_out = size;
    while (!done_ && stream_.avail_out == size) {
      const bool more = !input_.available().empty() || input_.more();
      const auto bytes = input_.available();
      stream_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
      stream_.avail_in = bytes.size();
      judge(lzma_code(&stream_, more ? LZMA_RUN : LZMA_FINISH));
      const auto taken = bytes.size() - stream_.avail_in;
      input_.consume(taken);
      fruitless_ = stream_.avail_out < size ? 0 : fruitless_ + taken;
      refuse_more_padding(fruitless_);  // the library takes them itself
    }
    return size - stream_.avail_out;
  }

 private:
  void judge(lzma_ret result) {
    if (result == LZMA_OK) return;
    if (result == LZMA_MEMLIMIT_ERROR)
      throw Error("the xz data wants more than {} MiB of memory to be unpacked", most_memory_for_xz >> 20);
    if (result == LZMA_BUF_ERROR) throw Error("the xz data is truncated");
    if (result != LZMA_STREAM_END) throw Error("the xz data is damaged");
    done_ = true;
  }

  Input input_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint64_t fruitless_ = 0;  // bytes taken since something came of them
  bool done_ = false;
};

class Limited final : public ByteSource {
 public:
  Limited(std::unique_ptr<ByteSource> source, std::uint64_t limit)
      : source_(std::move(source)), left_(limit), limit_(limit) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t got = source_->read(into, size);
    if (got > left_) throw Error("it unpacks to more than the {} bytes that are allowed", limit_);
    left_ -= got;
    return got;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::uint64_t left_, limit_;
};

std::unique_ptr<ByteSource> open_by_magic(Input input) {
  if (input.starts_with(gzip_magic)) return std::make_unique<Gzip>(std::move(input));
  if (input.starts_with(zstd_magic)) return std::make_unique<Zstd>(std::move(input));
  if (input.starts_with(xz_magic)) return std::make_unique<Xz>(std::move(input));
  return std::make_unique<Plain>(std::move(input));
}

}  // namespace

std::unique_ptr<ByteSource> decompress(ByteSource& source, std::uint64_t limit) {
  return std::make_unique<Limited>(open_by_magic(Input(source)), limit);
}

}  // namespace longship::image
