// SPDX-License-Identifier: Apache-2.0
// A few bytes that stand for very many: memory stays bounded, and what has no end is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <malloc.h>
#include <zstd.h>

#include "image/decompress.h"
#include "image/gzip_writer.h"
#include "image/merged.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t limit = 64u << 20;

std::string gzip(const std::string& piece, int times) {
  std::string packed;
  GzipWriter writer([&](std::string_view bytes) { packed += bytes; });
  for (int i = 0; i < times; ++i) writer.write(piece);
  writer.finish();
  return packed;
}

std::string zstd(const std::string& piece, int times, int window_log) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window_log);
  std::string packed, room(ZSTD_CStreamOutSize(), '\0');
  for (int i = 0; i <= times; ++i) {
    ZSTD_inBuffer in{piece.data(), i < times ? piece.size() : 0, 0};
    for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
      ZSTD_outBuffer out{room.data(), room.size(), 0};
      left = ZSTD_compressStream2(context.get(), &out, &in, i < times ? ZSTD_e_continue : ZSTD_e_end);
      packed.append(room, 0, out.pos);
      if (i < times && in.pos == in.size) break;
    }
  }
  return packed;
}

std::string xz(const std::string& content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  std::size_t size = 0;
  const auto* in = reinterpret_cast<const std::uint8_t*>(content.data());
  if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, in, content.size(),
                              reinterpret_cast<std::uint8_t*>(packed.data()), &size,
                              packed.size()) != LZMA_OK)
    throw Error("xz");
  packed.resize(size);
  return packed;
}

// The first block's header, behind the 12 bytes of the stream's: its length / 4 - 1, flags, LZMA2 and the
// size of the dictionary as one byte (40: 4 GiB), filled up, with a checksum in the end.
std::string with_giant_dictionary(std::string packed) {
  const std::size_t begin = 12, length = (static_cast<unsigned char>(packed[begin]) + 1u) * 4;
  packed[packed.find('\x21', begin) + 2] = 40;
  const auto sum = lzma_crc32(reinterpret_cast<const std::uint8_t*>(packed.data()) + begin, length - 4, 0);
  for (std::size_t i = 0; i < 4; ++i) packed[begin + length - 4 + i] = static_cast<char>(sum >> (8 * i));
  return packed;
}

std::string error_of(const std::string& packed) {
  return message_of([&] {
    MemorySource source(packed);
    drain(*decompress(source, limit));
  });
}

TEST(BombTest, WhatUnpacksToMoreThanTheLimitIsRefused) {
  const std::string zeros(1u << 20, '\0');
  const auto small = gzip(zeros, 65), smaller = zstd(zeros, 65, 20);
  EXPECT_LT(small.size(), 400'000u);
  EXPECT_LT(smaller.size(), 20'000u);
  for (const auto& bomb : {small, smaller})
    EXPECT_EQ(error_of(bomb), "it unpacks to more than the 67108864 bytes that are allowed");
  EXPECT_EQ(error_of(xz(std::string(65u << 20, '\0'))),
            "it unpacks to more than the 67108864 bytes that are allowed");
  for (const auto& fits : {gzip(zeros, 64), zstd(zeros, 64, 20)}) EXPECT_EQ(error_of(fits), "(no error)");
}

TEST(BombTest, ManySmallStreamsAreOneLargeOne) {
  const auto part = gzip(std::string(1u << 20, '\0'), 1);
  std::string all;
  for (int i = 0; i < 65; ++i) all += part;
  EXPECT_THAT(error_of(all), HasSubstr("it unpacks to more"));
}

TEST(BombTest, AGiantWindowIsRefusedBeforeItIsAllocated) {
  const auto before = ::mallinfo2();
  const auto bomb = zstd("x", 1, 30);  // what a decoder would have to hold: 1 GiB
  EXPECT_THAT(error_of(bomb), HasSubstr("the zstd data is damaged: Frame requires too much memory"));
  EXPECT_EQ(error_of(xz("x")), "(no error)");
  EXPECT_THAT(error_of(with_giant_dictionary(xz("x"))), HasSubstr("the xz data wants more than"));
  const auto after = ::mallinfo2();
  EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + (64u << 20));
}

TEST(BombTest, WhatFollowsTheDataIsRefused) {
  EXPECT_THAT(error_of(gzip("x", 1) + "PK"), HasSubstr("something else after the compressed data"));
  EXPECT_THAT(error_of(gzip("x", 1).substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(zstd("x", 1, 20).substr(0, 8)), HasSubstr("truncated"));
  EXPECT_EQ(error_of(xz("x") + "PK in a ZIP file"), "the xz data is damaged");
  EXPECT_EQ(error_of(xz("x").substr(0, 30)), "the xz data is truncated");
}

TEST(BombTest, ZerosWithoutEndBehindTheDataAreRefused) {
  const std::string few(1u << 20, '\0'), many(65u << 20, '\0');
  for (const auto& packed : {gzip("x", 1), zstd("x", 1, 20), xz("x")}) {
    EXPECT_EQ(error_of(packed + few), "(no error)");
    EXPECT_EQ(error_of(packed + many), "more than 64 MiB of zeros follow the compressed data");
  }
}

class TreeBombTest : public Merged {
 protected:
  static constexpr std::uint64_t most_memory = 8u << 20;

  // What is refused, and how much memory was held by then.
  std::pair<std::string, std::size_t> merge_within(const std::vector<std::string>& archives) {
    const Fd fd = open_file(directory_.path() / "image", O_RDWR | O_CREAT | O_TRUNC);
    SquashfsWriter writer(fd.get());
    std::size_t held = 0;
    const auto before = ::mallinfo2();
    const auto message = message_of([&] {
      Merge all(writer, most_memory);
      try {
        for (auto archive = archives.rbegin(); archive != archives.rend(); ++archive)
          all.add_layer(*layer(*archive));
      } catch (...) {
        const auto after = ::mallinfo2();
        held = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
        throw;
      }
      (void)all.finish();
    });
    return {message, held};
  }

  // The archives are counted too.
  void expect_refused(const std::vector<std::string>& archives, std::size_t archive_bytes) {
    const auto [message, held] = merge_within(archives);
    EXPECT_THAT(message, HasSubstr("layer: member "));
    EXPECT_THAT(message, HasSubstr("the names in the image take more than 8 MiB of memory"));
    EXPECT_LT(held, most_memory + most_memory / 2 + 3 * archive_bytes);
  }
};

TEST_F(TreeBombTest, VeryManyNamesAreRefused) {
  TarBuilder tar;
  for (int i = 0; i < 50'000; ++i) tar.file("f" + std::to_string(i), "");
  expect_refused({gzip(tar.done(), 1)}, 1u << 20);
}

TEST_F(TreeBombTest, DeepNamesAreCountedByTheirParts) {
  TarBuilder tar;
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i);
    for (int depth = 0; depth < 1900; ++depth) name += "/d";
    tar.pax({{"path", name}}).file("x", "");
  }
  expect_refused({gzip(tar.done(), 1)}, 1u << 20);
}

TEST_F(TreeBombTest, HiddenNamesAndWaitingLinksAreCounted) {
  TarBuilder hidden, waiting;
  const std::string longer(90, 'n');
  for (int i = 0; i < 60'000; ++i) {
    hidden.file("d/" + std::to_string(i) + longer, "");
    waiting.link(std::to_string(i), "z" + std::to_string(i) + longer);
  }
  expect_refused({gzip(hidden.done(), 1), TarBuilder().file(".wh.d", "").done()}, 4u << 20);
  expect_refused({gzip(waiting.done(), 1)}, 4u << 20);
}

TEST_F(TreeBombTest, AttributesAreCounted) {
  TarBuilder tar;
  for (int i = 0; i < 60; ++i)
    tar.pax({{"SCHILY.xattr.user.a", std::to_string(i) + std::string(60'000, 'x')}})
        .file("f" + std::to_string(i), "");
  expect_refused({gzip(tar.done(), 1)}, 1u << 20);
}

}  // namespace
}  // namespace longship::image
