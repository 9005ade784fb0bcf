// SPDX-License-Identifier: Apache-2.0
// SquashFS files of strangers, imported as a layer and unpacked into a directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sqfs/inode.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "box/unpack.h"
#include "image/merged.h"
#include "spoiled_squashfs.h"

namespace longship::image {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Spoiled = SpoiledSquashfs;

class SquashfsAttackTest : public Merged {
 protected:
  SquashfsAttackTest() {
    fs::create_directories(tree_ / "DIR1/DIR2/DIR3");
    fs::create_directories(tree_ / "DIR4");
    write("FILE", std::string(20'000, 'x'));
    write("DIR4/passwd", "the attacker's");
    fs::create_symlink("target/of/link", tree_ / "LINK");
    write_file(directory_.path() / "passwd", "the host's");
  }

  void write(const std::string& name, const std::string& content) { std::ofstream(tree_ / name) << content; }
  Spoiled image() { return {tree_, directory_.path() / ("image" + std::to_string(++count_))}; }

  std::string imported(const Spoiled& image) {
    return message_of([&] {
      const Fd fd = open_file(directory_.path() / "made", O_RDWR | O_CREAT | O_TRUNC);
      SquashfsWriter writer(fd.get());
      Merge merge(writer);
      merge.add_layer(*squashfs_layer(image.write(), false));
      (void)merge.finish();
    });
  }
  std::string unpacked(const Spoiled& image) {
    const auto out = directory_.path() / "out";
    fs::remove_all(out);
    fs::create_directories(out / "tree");
    auto message = message_of([&] {
      box::unpack(open_file(image.write(), O_RDONLY).get(), "image",
                  open_file(out / "tree", O_RDONLY | O_DIRECTORY).get());
    });
    EXPECT_EQ(std::distance(fs::directory_iterator(out), {}), 1);  // nothing beside it
    EXPECT_EQ(read_file(directory_.path() / "passwd"), "the host's");
    return message;
  }
  void expect_refused(const Spoiled& image, const std::string& words) {
    EXPECT_THAT(imported(image), HasSubstr(words));
    EXPECT_THAT(unpacked(image), HasSubstr("damaged"));
  }

  const fs::path tree_ = directory_.path() / "source";
};

TEST_F(SquashfsAttackTest, AnHonestOneIsReadBothWays) {
  EXPECT_EQ(imported(image()), "(no error)");
  EXPECT_EQ(unpacked(image()), "(no error)");
}

TEST_F(SquashfsAttackTest, ADamagedSuperblockIsRefused) {
  constexpr std::uint64_t beyond = std::uint64_t{1} << 40;
  const auto spoil = [&](auto&& change) {
    auto spoiled = image();
    change(spoiled);
    EXPECT_NE(imported(spoiled), "(no error)");
    EXPECT_NE(unpacked(spoiled), "(no error)");
  };
  spoil([](Spoiled& s) { s.put<std::uint16_t>(Spoiled::version, 5); });
  spoil([](Spoiled& s) { s.put<std::uint16_t>(Spoiled::compression, 99); });
  spoil([](Spoiled& s) { s.put<std::uint32_t>(Spoiled::block_size, 0); });
  spoil([](Spoiled& s) { s.put<std::uint32_t>(Spoiled::block_size, 3); });
  spoil([](Spoiled& s) {
    s.put<std::uint32_t>(Spoiled::block_size, 1u << 31).put<std::uint16_t>(Spoiled::block_log, 31);
  });
  spoil([](Spoiled& s) { s.put<std::uint16_t>(Spoiled::block_log, 17); });
  spoil([](Spoiled& s) { s.put(Spoiled::inode_table, beyond); });
  spoil([](Spoiled& s) { s.put(Spoiled::directory_table, beyond); });
  spoil([](Spoiled& s) { s.put(Spoiled::root_inode, std::uint64_t{0xffff'ffff'0000}); });
  spoil([](Spoiled& s) { s.put<std::uint64_t>(Spoiled::root_inode, 8191); });
}

TEST_F(SquashfsAttackTest, TablesOfAnyClaimedSizeTakeNoMemory) {
  for (const auto field : {Spoiled::fragments, Spoiled::bytes_used}) {
    auto spoiled = image();
    spoiled.put<std::uint32_t>(field, 0xffff'fff0);
    (void)imported(spoiled);  // one of the libraries does not care, and need not
    (void)unpacked(spoiled);
  }
}

TEST_F(SquashfsAttackTest, ADirectoryThatLiesInItselfIsRefused) {
  expect_refused(image().lead("DIR3", "DIR1"), "is the same directory as another: it is damaged");
  expect_refused(image().lead_to_root("DIR2"), "is the same directory as another: it is damaged");
}

TEST_F(SquashfsAttackTest, ADirectoryWithTwoNamesIsRefused) {
  // One that holds another twice, which holds a third twice: 2^n names out of n.
  expect_refused(image().lead("DIR4", "DIR1"), "is the same directory as another: it is damaged");
}

TEST_F(SquashfsAttackTest, ALinkAsTheRootIsRefused) {
  auto spoiled = image();
  spoiled.put<std::uint16_t>(Spoiled::root_inode, spoiled.get<std::uint16_t>(spoiled.name("LINK") - 8));
  EXPECT_THAT(imported(spoiled), HasSubstr("its root is not a directory"));
  EXPECT_THAT(unpacked(spoiled), HasSubstr("damaged"));
}

TEST_F(SquashfsAttackTest, NamesThatLeadElsewhereAreRefused) {
  write("NN", "x");
  write("N", "x");
  expect_refused(image().rename("NN", ".."), "impossible name, ..");
  expect_refused(image().rename("FILE", "../x"), "impossible name, ../x");
  expect_refused(image().rename("FILE", "/etc"), "impossible name, /etc");
  const auto message = unpacked(image().rename("FILE", "\x1b[/m"));
  EXPECT_THAT(message, HasSubstr("\"\\x1b[/m\" in / is no name for a file"));
}

TEST_F(SquashfsAttackTest, ANameLongerThanAnyRoomForItIsRefused) {
  auto spoiled = image();
  spoiled.put<std::uint16_t>(spoiled.name("FILE") - 2, 60'000);
  EXPECT_NE(imported(spoiled), "(no error)");
  EXPECT_NE(unpacked(spoiled), "(no error)");
}

TEST_F(SquashfsAttackTest, ANameThatComesTwiceWritesThroughNothing) {
  // A link that leads out, and a directory of the same name with a file in it.
  fs::create_symlink("../..", tree_ / "DIR0");
  const auto spoiled = image().rename("DIR4", "DIR0");
  EXPECT_THAT(unpacked(spoiled), AnyOf(HasSubstr("cannot write /DIR0: File exists")));
  (void)imported(spoiled);  // the later one counts, within the image
  EXPECT_EQ(read_file(directory_.path() / "passwd"), "the host's");
}

TEST_F(SquashfsAttackTest, SizesThatAreLiesAreRefused) {
  auto file = image();
  file.put<std::uint32_t>(file.inode("FILE") + Spoiled::file_size, 0xffff'ffff);
  EXPECT_THAT(imported(file), HasSubstr("SquashFS file"));
  EXPECT_THAT(unpacked(file), HasSubstr("/FILE: the image is damaged"));
  auto link = image();
  link.put<std::uint32_t>(link.inode("LINK") + Spoiled::link_size, 0x7fff'ffff);
  EXPECT_THAT(imported(link), HasSubstr("SquashFS file"));
  EXPECT_NE(unpacked(link), "(no error)");
  auto empty = image();
  empty.put<std::uint32_t>(empty.inode("LINK") + Spoiled::link_size, 0);
  EXPECT_THAT(imported(empty), HasSubstr("member LINK: the symbolic link has an impossible target"));
}

TEST_F(SquashfsAttackTest, ADirectoryElsewhereIsRefused) {
  auto spoiled = image();
  spoiled.put<std::uint32_t>(spoiled.inode("DIR4") + Spoiled::directory_block, 0x00ff'ffff);
  EXPECT_NE(imported(spoiled), "(no error)");
  EXPECT_NE(unpacked(spoiled), "(no error)");
}

// libsquashfs writes a file's list of blocks through the stack.
void with_large_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} << 20);
  pthread_t thread{};
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// 17 million holes of one file: 68 MiB of metadata, in which all bytes are equal.
void write_bomb(const fs::path& path) {
  constexpr std::size_t blocks = 17'000'000;
  const std::unique_ptr<sqfs_inode_generic_t, void (*)(void*)> inode(
      static_cast<sqfs_inode_generic_t*>(std::calloc(1, sizeof(sqfs_inode_generic_t) + blocks * 4)),
      std::free);
  inode->base.type = SQFS_INODE_EXT_FILE;
  inode->payload_bytes_used = blocks * 4;
  inode->data.file_ext.file_size = std::uint64_t{blocks} * 131'072;
  inode->data.file_ext.fragment_idx = 0xffff'ffff;
  Node root;
  root.inode = std::make_shared<Inode>();
  auto& file = root.children["bomb"] = std::make_unique<Node>();
  file->inode = std::make_shared<Inode>();
  file->inode->kind = Kind::file;
  const Fd fd = open_file(path, O_RDWR | O_CREAT);
  SquashfsWriter writer(fd.get());
  Member member;
  member.stored = inode.get();
  MemorySource nothing("");
  writer.store(file->inode, member, nothing);
  EXPECT_LT(writer.finish(root).bytes, 2'000'000u);
}

TEST_F(SquashfsAttackTest, AListOfBlocksThatUnpacksToAnySizeIsRefused) {
  const auto path = directory_.path() / "bomb";
  with_large_stack([&] { write_bomb(path); });
  EXPECT_THAT(message_of([&] {
                struct Nothing final : MemberSink {
                  void add(const Member&, ByteSource&) override {}
                } sink;
                squashfs_layer(path, false)->read(sink);
              }),
              HasSubstr("cannot read the SquashFS file: a number in it is too large"));
}

TEST_F(SquashfsAttackTest, HolesOfAFileTakeNoSpace) {
  fs::resize_file(tree_ / "FILE", 256u << 20);
  const auto honest = image();
  EXPECT_EQ(unpacked(honest), "(no error)");
  struct stat about {};
  ASSERT_EQ(::stat((directory_.path() / "out/tree/FILE").c_str(), &about), 0);
  EXPECT_EQ(about.st_size, off_t{256} << 20);
  EXPECT_LE(about.st_blocks * 512, 2 << 20);
}

}  // namespace
}  // namespace longship::image
