// SPDX-License-Identifier: Apache-2.0
// A directory written from layers is what the SquashFS file from the same layers unpacks to, also for layers
// that try to write elsewhere or want the same name twice.
#include "image/directory_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/error.h"
#include "base/file.h"
#include "box/unpack.h"
#include "image/make.h"
#include "image/merged.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {
namespace fs = std::filesystem;

using Archives = std::vector<std::string>;  // the lowest first

Layers layers_of(const Archives& archives) {
  Layers layers;
  for (const auto& archive : archives) layers.push_back(layer(archive));
  return layers;
}

// What is at each name: its kind, permissions, time, content, and which names are the same file.
std::map<std::string, std::string> listing(const fs::path& root) {
  std::map<std::string, std::string> found;
  std::map<ino_t, std::string> first_names;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    const std::string name = path.lexically_relative(root).string();
    std::string text = fmt::format("{:o} {}", info.st_mode & (S_IFMT | 0777), info.st_mtime);
    if (S_ISLNK(info.st_mode)) text += " -> " + fs::read_symlink(path).string();
    if (S_ISREG(info.st_mode)) text += " is " + first_names.emplace(info.st_ino, name).first->second;
    if (S_ISREG(info.st_mode)) text += ": " + read_file(path);
    found.emplace(name, text);
  }
  return found;
}

class DirectoryWriterTest : public testing::Test {
 protected:
  fs::path written(const Archives& archives) {
    const auto place = directory_.path() / std::to_string(++count_);
    fs::create_directories(place / "tree");
    fs::create_directories(place / "spare");
    const Fd tree = open_file(place / "tree", O_RDONLY | O_DIRECTORY);
    const Fd spare = open_file(place / "spare", O_RDONLY | O_DIRECTORY);
    DirectoryWriter writer(tree.get(), spare.get());
    auto layers = layers_of(archives);
    static_cast<void>(write_layers(writer, layers));
    return place / "tree";
  }
  fs::path unpacked(const Archives& archives) {
    const auto place = directory_.path() / std::to_string(++count_);
    fs::create_directories(place / "tree");
    const Fd file = open_file(place / "image", O_RDWR | O_CREAT | O_EXCL);
    auto layers = layers_of(archives);
    static_cast<void>(write_squashfs(file.get(), layers));
    const Fd tree = open_file(place / "tree", O_RDONLY | O_DIRECTORY);
    box::unpack(file.get(), place / "image", tree.get());
    return place / "tree";
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

// Blocks of files and blocks of tails become due in turn; some files are equal, some have blocks of zeros.
std::string many_files() {
  TarBuilder tar;
  std::uint32_t state = 1;
  const auto noise = [&](std::size_t size) {
    std::string bytes(size, '\0');
    for (auto& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return bytes;
  };
  std::string before;
  for (int i = 0; i < 60; ++i) {
    const std::size_t blocks = static_cast<std::size_t>(i % 4) * (128u << 10);
    std::string bytes = noise(blocks + static_cast<std::size_t>(i) * 2003);
    if (i % 7 == 3) bytes.replace(0, std::min<std::size_t>(bytes.size(), 128u << 10), 128u << 10, '\0');
    tar.file("f" + std::to_string(i), bytes).file("g" + std::to_string(i), i % 5 == 2 ? before : bytes);
    before = std::move(bytes);
  }
  return tar.done();
}

struct Case {
  const char* name;
  Archives archives;
};

class SameAsUnpacked : public DirectoryWriterTest, public testing::WithParamInterface<Case> {};

TEST_P(SameAsUnpacked, Tree) {
  EXPECT_EQ(listing(written(GetParam().archives)), listing(unpacked(GetParam().archives)));
}

INSTANTIATE_TEST_SUITE_P(
    Layers, SameAsUnpacked,
    testing::Values(
        Case{"ModesAndTimes",
             {TarBuilder().directory("d", 0500).file("d/f", "x", 0400).file("s", "", 04755).done()}},
        Case{"UpperHidesLower",
             {TarBuilder().file("a", "below").file("b", "b").done(), TarBuilder().file("a", "above").done()}},
        Case{"Whiteouts",
             {TarBuilder().file("d/a", "1").file("d/b", "1").file("e/f/g", "1").done(),
              TarBuilder().file("d/.wh.a", "").file("e/.wh..wh..opq", "").file("e/h", "2").done()}},
        Case{"LinksOfBothKinds",
             {TarBuilder().file("a", "1").link("b", "a").symlink("c", "a").link("d/e", "b").done()}},
        Case{"ALinkToWhatIsHidden",
             {TarBuilder().file("a", "low").link("b", "a").done(), TarBuilder().file("a", "high").done()}},
        Case{
            "ALinkToWhatIsRemoved",
            {TarBuilder().file("d/a", "low").link("b", "d/a").done(), TarBuilder().file(".wh.d", "").done()}},
        Case{"ALaterMemberTakesTheName", {TarBuilder().file("a", "1").link("b", "a").file("a", "2").done()}},
        Case{"AFileTakesTheNameOfADirectory",
             {TarBuilder().file("a/b/c", "1").link("d", "a/b/c").file("a", "2").done()}},
        Case{"ADirectoryTakesTheNameOfAFile",
             {TarBuilder().file("a", "1").directory("a").file("a/b", "2").done()}},
        Case{"ADirectoryComesAndGoesAndComes",
             {TarBuilder().file("a/x/y", "1").file("a", "2").directory("a").file("a/z", "3").done()}},
        Case{"ASymbolicLinkTakesTheNameOfADirectory",
             {TarBuilder().file("a/b", "1").symlink("a", "/tmp").done()}},
        Case{"AnUnnamedParentIsALink",
             {TarBuilder().directory("usr/lib").symlink("lib", "usr/lib").file("usr/lib/x", "old").done(),
              TarBuilder().file("lib/x", "new").file("lib/deep/y", "y").done()}},
        Case{"MountPointsStay", {TarBuilder().symlink("run", "var/run").file("etc/hosts", "mine").done()}},
        Case{"ManyFilesWithBlocksAndTails", {many_files()}},
        Case{"LargerThanABuffer", {TarBuilder().file("a", std::string(700'001, 'a')).file("b", "").done()}}),
    [](const auto& one) { return one.param.name; });

TEST_F(DirectoryWriterTest, ZerosTakeNoRoom) {
  std::string content(32 << 20, '\0');
  content[16 << 20] = 'x';
  const auto tree = written({TarBuilder().file("mostly", content).done()});
  struct stat info {};
  ASSERT_EQ(::stat((tree / "mostly").c_str(), &info), 0);
  EXPECT_EQ(read_file(tree / "mostly"), content);
  EXPECT_LT(info.st_blocks * 512, 2 << 20);
}

TEST_F(DirectoryWriterTest, ALinkThatLeadsOutIsNotFollowed) {
  const auto outside = directory_.path() / "outside";
  fs::create_directory(outside);
  for (const auto& archives : std::vector<Archives>{
           {TarBuilder().symlink("a", outside).done(), TarBuilder().file("a/x", "1").done()},
           {TarBuilder().file("a/x", "1").done(), TarBuilder().symlink("a", outside).done()},
           {TarBuilder().symlink("a", outside).directory("a").file("a/x", "1").done()}}) {
    static_cast<void>(written(archives));
    EXPECT_TRUE(fs::is_empty(outside));
  }
  EXPECT_THROW(static_cast<void>(written({TarBuilder().symlink("a", outside).file("a/x", "1").done()})),
               Error);
  EXPECT_TRUE(fs::is_empty(outside));
}

}  // namespace
}  // namespace longship::image
