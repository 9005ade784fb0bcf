// SPDX-License-Identifier: Apache-2.0
// Blocks of an image that several threads share, files found by their paths, and what is unpacked before
// anybody asks for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "box/checked_squashfs.h"
#include "box/head_start.h"
#include "box/squashfs_path.h"
#include "box/unpack_ahead.h"
#include "forked.h"

namespace longship::box {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr const char* loader = "ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
constexpr const char* loader = "ld-linux-aarch64.so.1";
#else
constexpr const char* loader = "ld64.so.2";
#endif

// Bytes that differ from block to block, and do not compress to nothing.
std::string content(std::size_t size, char seed) {
  std::string bytes(size, seed);
  for (std::size_t i = 0; i < size; i += 7) bytes[i] = static_cast<char>(i * 31 / 4096 + i);
  return bytes;
}

class UnpackedBlocksTest : public testing::Test {
 protected:
  UnpackedBlocksTest() {
    const fs::path tree = temporary_.path() / "tree";
    write(tree / "etc/passwd", "root:x:0:0::/:/bin/sh\n");
    write(tree / "usr/bin/program", content(300'000, 'p'));
    write(tree / "usr/bin/other", content(300'000, 'o'));
    write(tree / "usr/lib/here" / fs::path(loader), content(200'000, 'l'));
    write(tree / "usr/lib/here/libc.so.6", content(900'000, 'c'));
    fs::create_directories(tree / "usr/lib64");
    fs::create_symlink("usr/bin", tree / "bin");
    fs::create_symlink("usr/lib", tree / "lib");
    fs::create_symlink("usr/lib64", tree / "lib64");
    fs::create_symlink("/lib/here/" + std::string(loader), tree / "usr/lib64" / loader);
    fs::create_symlink("here/" + std::string(loader), tree / "usr/lib" / loader);
    fs::create_symlink("../../../../etc/./passwd", tree / "usr/bin/up");
    fs::create_symlink("around", tree / "round");
    fs::create_symlink("round", tree / "around");
    Command command;
    command.arguments = {"mksquashfs", tree, image, "-comp", "zstd", "-quiet", "-no-progress", "-all-root"};
    (void)output_of(command);
    file = open_file(image, O_RDWR);
  }

  // Nothing that was not unpacked before can be read from now on.
  void take_contents_away() const { ASSERT_EQ(::ftruncate(file.get(), 0), 0); }

  static std::string read_whole(SquashFs& from, FoundFile found) {
    std::string bytes(static_cast<std::size_t>(found.inode.xtra.reg.file_size), '\0');
    std::size_t size = bytes.size();
    return read_content(from, found.inode, 0, bytes.data(), size) ? bytes.substr(0, size) : "unreadable";
  }

  TemporaryDirectory temporary_;
  const fs::path image = temporary_.path() / "image.sqfs";
  Fd file;
};

std::string path_of(SquashFs& from, std::string_view path) {
  const auto found = find_file(from, path);
  return found ? found->path : "nothing";
}

TEST_F(UnpackedBlocksTest, LinksAreFollowedWithinTheImage) {
  SquashFs from(file.get(), "");
  EXPECT_EQ(path_of(from, "/"), "");
  EXPECT_EQ(path_of(from, "bin/program"), "/usr/bin/program");
  EXPECT_EQ(path_of(from, "/lib64/" + std::string(loader)), "/usr/lib/here/" + std::string(loader));
  EXPECT_EQ(path_of(from, "/bin/up"), "/etc/passwd");
  EXPECT_EQ(path_of(from, "/bin/../../../usr/./bin//other"), "/usr/bin/other");
  EXPECT_EQ(path_of(from, "/round"), "nothing");
  EXPECT_EQ(path_of(from, "/bin/missing"), "nothing");
  EXPECT_EQ(path_of(from, "/etc/passwd/below"), "nothing");
}

TEST_F(UnpackedBlocksTest, WhatOneHasUnpackedIsThereForAll) {
  const auto blocks = std::make_shared<BlockCache>(32);
  SquashFs one(file.get(), "", blocks), other(file.get(), "", blocks), alone(file.get(), "");
  const auto found = *find_file(other, "/bin/program");
  const auto found_alone = *find_file(alone, "/bin/program");
  squashfs_fragment_entry tails = {};  // where ends of files are is not their content, and has to be known
  for (auto* reader : {&other, &alone}) ASSERT_EQ(sqfs_frag_entry(reader->get(), &tails, 0), SQFS_OK);
  EXPECT_EQ(read_whole(one, *find_file(one, "/bin/program")), content(300'000, 'p'));
  take_contents_away();
  EXPECT_EQ(read_whole(other, found), content(300'000, 'p'));
  EXPECT_EQ(read_whole(alone, found_alone), "unreadable");
}

TEST_F(UnpackedBlocksTest, TheOldestGiveWayAndAllCanBeForgotten) {
  SquashFs from(file.get(), "");
  const auto found = *find_file(from, "/usr/lib/here/libc.so.6");
  sqfs_blocklist list = {};
  auto inode = found.inode;
  sqfs_blocklist_init(from.get(), &inode, &list);
  BlockCache blocks(2);
  std::vector<BlockCache::Block> got;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(sqfs_blocklist_next(&list), SQFS_OK);
    got.push_back(blocks.get(*from.get(), list.block, list.header));
    ASSERT_TRUE(got.back());
    EXPECT_EQ(blocks.get(*from.get(), list.block, list.header), got.back());
  }
  EXPECT_EQ(got[0].use_count(), 1);
  EXPECT_EQ(got[1].use_count(), 2);
  EXPECT_EQ(got[2].use_count(), 2);
  blocks.clear();
  EXPECT_EQ(got[2].use_count(), 1);
}

TEST_F(UnpackedBlocksTest, ADamagedBlockIsNoneAndIsNotRemembered) {
  SquashFs from(file.get(), "");
  auto inode = find_file(from, "/bin/program")->inode;
  sqfs_blocklist list = {};
  sqfs_blocklist_init(from.get(), &inode, &list);
  ASSERT_EQ(sqfs_blocklist_next(&list), SQFS_OK);
  BlockCache blocks(2);
  EXPECT_FALSE(blocks.get(*from.get(), list.block + 3, list.header));
  EXPECT_FALSE(blocks.get(*from.get(), list.block + 3, list.header));
  EXPECT_TRUE(blocks.get(*from.get(), list.block, list.header));
}

TEST_F(UnpackedBlocksTest, ManyThreadsReadTheSameThroughFewBlocks) {
  const auto blocks = std::make_shared<BlockCache>(3);
  std::vector<std::thread> threads;
  std::vector<std::string> read(4);
  for (auto& bytes : read)
    threads.emplace_back([&] {
      SquashFs from(file.get(), "", blocks);
      for (int i = 0; i < 20; ++i) bytes = read_whole(from, *find_file(from, "/usr/lib/here/libc.so.6"));
    });
  for (auto& thread : threads) thread.join();
  for (const auto& bytes : read) EXPECT_EQ(bytes, content(900'000, 'c'));
}

// What is there once nobody is at work any more, without having been read.
TEST_F(UnpackedBlocksTest, WhatAFirstProgramNeedsIsUnpackedAhead) {
  const HeadStart ahead(file.get(), "program");
  SquashFs from(file.get(), "", ahead.blocks());
  std::vector<FoundFile> needed;
  for (const auto* path : {"/etc/passwd", "/bin/program", "/usr/lib/here/libc.so.6", "/bin/other"}) {
    needed.push_back(*find_file(from, path));
  }
  squashfs_fragment_entry tails = {};  // where ends of files are is not their content, and has to be known
  ASSERT_EQ(sqfs_frag_entry(from.get(), &tails, 0), SQFS_OK);
  needed.push_back(*find_file(from, "/usr/lib/here/" + std::string(loader)));
  for (int i = 0; i < 1000 && ahead.at_work(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_FALSE(ahead.at_work());
  take_contents_away();
  EXPECT_EQ(read_whole(from, needed[0]), "root:x:0:0::/:/bin/sh\n");
  EXPECT_EQ(read_whole(from, needed[1]), content(300'000, 'p'));
  EXPECT_EQ(read_whole(from, needed[2]), content(900'000, 'c'));
  EXPECT_EQ(read_whole(from, needed[4]), content(200'000, 'l'));
  EXPECT_EQ(read_whole(from, needed[3]), "unreadable");
}

TEST_F(UnpackedBlocksTest, WhereAFileIsReadInARowItsNextBlockIsUnpackedAhead) {
  constexpr std::size_t block = 128u << 10;
  const auto blocks = std::make_shared<BlockCache>(32);
  SquashFs from(file.get(), "", blocks);
  auto inode = find_file(from, "/usr/lib/here/libc.so.6")->inode;
  UnpackAhead ahead(file.get(), blocks);
  const auto read_block = [&](std::size_t number) {
    std::string bytes(block, '\0');
    std::size_t size = bytes.size();
    return read_content(from, inode, number * block, bytes.data(), size) && size == block;
  };
  for (std::size_t number = 0; number < ReadRows::least; ++number) {
    EXPECT_TRUE(read_block(number));
    ahead.was_read(inode, 7, number * block, (number + 1) * block, block);
  }
  for (int i = 0; i < 1000 && ahead.at_work(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_FALSE(ahead.at_work());
  take_contents_away();
  EXPECT_TRUE(read_block(ReadRows::least));
  EXPECT_FALSE(read_block(ReadRows::least + 1));
}

TEST_F(UnpackedBlocksTest, AnImageThatCannotBeReadIsNoProblemForIt) {
  take_contents_away();
  const HeadStart ahead(file.get(), "/bin/program");
  for (int i = 0; i < 1000 && ahead.at_work(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(ahead.at_work());
}

}  // namespace
}  // namespace longship::box
