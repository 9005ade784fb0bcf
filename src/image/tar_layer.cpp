// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "decompress.h"
#include "formats/digest.h"
#include "layer.h"
#include "read_ahead.h"
#include "tar.h"

namespace longship::image {
namespace {

constexpr std::uint64_t largest_layer = std::uint64_t{1} << 40;  // unpacked

class TarLayer final : public Layer {
 public:
  explicit TarLayer(TarOrigin origin) : origin_(std::move(origin)) {}
  [[nodiscard]] std::string name() const override { return origin_.name; }

  void read(MemberSink& sink) override {
    if (was_read_ && !origin_.repeatable)
      throw Error("{} has a hard link to a member that a later one replaced, and cannot be read twice",
                  origin_.name);
    was_read_ = true;
    const auto raw = origin_.open();
    formats::Sha256 packed, unpacked;
    WatchedSource seen(*raw, [&](std::string_view piece) {
      if (origin_.progress) origin_.progress(piece.size());
      if (!origin_.digest.empty()) packed.update(piece);  // at once, while the core has it at hand
    });
    ReadAhead arriving(seen);
    const auto plain = decompress(arriving, largest_layer);
    ReadAhead tar(*plain, digesting(unpacked, origin_.diff_id));
    const bool complete = read_members(tar, sink);
    drain_padding(tar);  // what follows the end marker belongs to the diff id
    tar.finish();
    drain_padding(arriving);  // and padding after the compressed data to the digest
    arriving.finish();
    verify("digest", origin_.digest, packed);
    verify("diff id", origin_.diff_id, unpacked);
    if (!complete && origin_.digest.empty() && origin_.diff_id.empty())
      throw Error("the archive has no end marker: it is truncated, or not a tar archive");
  }

 private:
  static ReadAhead::Watcher digesting(formats::Sha256& sum, const std::string& expected) {
    if (expected.empty()) return nullptr;
    return [&sum](std::string_view piece) { sum.update(piece); };
  }

  static bool read_members(ByteSource& tar, MemberSink& sink) {
    TarReader reader(tar);
    while (const auto member = reader.next())
      within_member(member->path, [&] { sink.add(*member, reader.content()); });
    return reader.has_end_marker();
  }

  static void drain_padding(ByteSource& source) {
    std::array<char, 64 * 1024> room;
    std::uint64_t bytes = 0;
    for (auto piece = source.take(room); !piece.empty(); piece = source.take(room))
      if ((bytes += piece.size()) > most_padding)
        throw Error("more than {} MiB follow the end of the archive", most_padding >> 20);
  }

  static void verify(std::string_view what, const std::string& expected, formats::Sha256& sum) {
    if (expected.empty()) return;
    const std::string found = sum.digest();
    if (found != expected) throw Error("its {} is {}, not the {} that was promised", what, found, expected);
  }

  TarOrigin origin_;
  bool was_read_ = false;
};

}  // namespace

std::unique_ptr<Layer> tar_layer(TarOrigin origin) {
  return std::make_unique<TarLayer>(std::move(origin));
}

}  // namespace longship::image
