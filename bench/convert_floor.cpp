// SPDX-License-Identifier: Apache-2.0
// The CPU seconds that no converter of OCI layers to SquashFS can do without: inflate, SHA-256 of the
// compressed and of the uncompressed bytes, zstd level 1 of what is in the files, in blocks of 128 KiB.
// Nothing else is in the time: no reading, no archive, no names, no writing.
//
//   convert_floor LAYER…     {"inflate": …, "digests": …, "compress": …, "cores": …}
//
// Every core does all of it at the same time and the mean is told, because a core is slower when the others
// are busy too; a converter's are.
#include <fcntl.h>
#include <zstd.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "formats/digest.h"
#include "image/bytes.h"
#include "image/decompress.h"
#include "image/tar.h"

namespace longship::image {
namespace {

constexpr std::size_t block_size = 128u << 10;
constexpr std::uint64_t no_limit = std::uint64_t{1} << 50;

double cpu_now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Costs {
  double inflate = 0, digests = 0, compress = 0;
};

// The compressed bytes. What is spent in here is not spent on inflating.
class Packed final : public ByteSource {
 public:
  Packed(const std::string& path, Costs& costs) : file_(open_file(path, O_RDONLY)), costs_(costs) {}
  std::size_t read(char* into, std::size_t size) override {
    const double begin = cpu_now();
    const std::size_t got = file_.read(into, size);
    const double before = cpu_now();
    digest_.update({into, got});
    const double end = cpu_now();
    costs_.digests += end - before;
    inside_ += end - begin;
    return got;
  }
  [[nodiscard]] double inside() const { return inside_; }

 private:
  FileSource file_;
  Costs& costs_;
  formats::Sha256 digest_;
  double inside_ = 0;
};

class Unpacked final : public ByteSource {
 public:
  Unpacked(Packed& packed, Costs& costs)
      : packed_(packed), plain_(decompress(packed, no_limit)), costs_(costs) {}
  std::size_t read(char* into, std::size_t size) override {
    const double inside_before = packed_.inside(), begin = cpu_now();
    const std::size_t got = plain_->read(into, size);
    const double before = cpu_now();
    costs_.inflate += before - begin - (packed_.inside() - inside_before);
    digest_.update({into, got});
    costs_.digests += cpu_now() - before;
    return got;
  }

 private:
  Packed& packed_;
  std::unique_ptr<ByteSource> plain_;
  Costs& costs_;
  formats::Sha256 digest_;
};

class Blocks {
 public:
  explicit Blocks(Costs& costs) : costs_(costs) {}
  // Appends what comes to the block; a full one is compressed.
  void fill_from(ByteSource& content) {
    while (const std::size_t got = content.read(block_.data() + filled_, block_.size() - filled_)) {
      filled_ += got;
      if (filled_ == block_.size()) compress();
    }
  }
  void compress() {
    const double begin = cpu_now();
    ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(), block_.data(), filled_, 1);
    costs_.compress += cpu_now() - begin;
    filled_ = 0;
  }

 private:
  Costs& costs_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::vector<char> block_ = std::vector<char>(block_size);
  std::vector<char> packed_ = std::vector<char>(ZSTD_compressBound(block_size));
  std::size_t filled_ = 0;
};

// A read of the archive's own is one header: without this the clock would be asked for every 512 bytes.
class Buffered final : public ByteSource {
 public:
  explicit Buffered(ByteSource& source) : source_(source) {}
  std::size_t read(char* into, std::size_t size) override {
    if (left_.empty()) left_ = {buffer_.data(), read_fully(source_, buffer_.data(), buffer_.size())};
    const std::size_t count = std::min(size, left_.size());
    left_.copy(into, count);
    left_.remove_prefix(count);
    return count;
  }

 private:
  ByteSource& source_;
  std::vector<char> buffer_ = std::vector<char>(256u << 10);
  std::string_view left_;
};

Costs convert(const std::vector<std::string>& layers) {
  Costs costs;
  Blocks blocks(costs);
  for (const auto& layer : layers) {
    Packed packed(layer, costs);
    Unpacked unpacked(packed, costs);
    Buffered tar(unpacked);
    TarReader reader(tar);
    while (reader.next()) blocks.fill_from(reader.content());
    drain(tar);
  }
  blocks.compress();
  return costs;
}

int measure(const std::vector<std::string>& layers) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Costs> all(cores);
  std::vector<std::thread> threads;
  for (auto& costs : all) threads.emplace_back([&] { costs = convert(layers); });
  for (auto& thread : threads) thread.join();
  Costs mean;
  for (const auto& costs : all) {
    mean.inflate += costs.inflate / cores;
    mean.digests += costs.digests / cores;
    mean.compress += costs.compress / cores;
  }
  std::printf("{\"inflate\": %.3f, \"digests\": %.3f, \"compress\": %.3f, \"cores\": %u}\n", mean.inflate,
              mean.digests, mean.compress, cores);
  return 0;
}

}  // namespace
}  // namespace longship::image

int main(int count, char** words) {
  try {
    return longship::image::measure({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "convert_floor: %s\n", error.what());
    return 1;
  }
}
