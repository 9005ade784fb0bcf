// SPDX-License-Identifier: Apache-2.0
#include "formats/archive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "formats/digest.h"
#include "formats/member.h"
#include "formats/zstd_stream.h"
#include "message.h"

namespace longship::formats {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class ArchiveTest : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view bytes, bool executable = false) {
    const auto path = tree() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;  // write_file() would sync each of many
    ASSERT_EQ(::chmod(path.c_str(), executable ? 0755 : 0644), 0);
  }
  fs::path tree() const { return directory_.path() / "tree"; }
  fs::path archive() const { return directory_.path() / "code.tar.zst"; }
  fs::path unpacked() const { return directory_.path() / "unpacked"; }
  Bundle pack(const BundleOptions& options = {}) { return pack_bundle(tree(), archive(), options); }
  std::string bytes() { return read_file(archive()); }
  void SetUp() override { fs::create_directories(tree()); }

  // What is in a tree: "f 644 text", "d", "l target".
  static std::map<std::string, std::string> contents(const fs::path& root) {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const auto name = fs::relative(entry.path(), root).string();
      if (entry.is_symlink())
        found[name] = "l " + fs::read_symlink(entry.path()).string();
      else if (entry.is_directory())
        found[name] = "d";
      else
        found[name] =
            ((entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none ? "x " : "f ") +
            read_file(entry.path());
    }
    return found;
  }
  std::vector<std::string> names_after(const BundleOptions& options = {}) {
    pack(options);
    unpack_bundle(archive(), unpacked());
    std::vector<std::string> names;
    for (const auto& [name, what] : contents(unpacked())) names.push_back(name);
    return names;
  }

  TemporaryDirectory directory_;
};

TEST_F(ArchiveTest, WhatIsUnpackedIsWhatWasPacked) {
  put("train.py", "print(1)\n");
  put("bin/run", "#!/bin/sh\n", true);
  put("empty", "");
  put("exactly/one/block", std::string(512, 'x'));
  put("large", std::string(3'000'001, 'y'));
  fs::create_directories(tree() / "no files here");
  fs::create_symlink("../train.py", tree() / "bin" / "link");
  put(std::string(200, 'n'), "a name too long for ustar");
  put("d/" + std::string(120, 'p') + "/" + std::string(90, 'q'), "a name that ustar cuts in two");
  fs::create_symlink(std::string(200, 'n'), tree() / "long-link");
  put("b\xc3\xbc\nd", "a name with a line break");
  const auto bundle = pack();
  unpack_bundle(archive(), unpacked(), {.digest = bundle.digest});
  EXPECT_EQ(contents(unpacked()), contents(tree()));
  EXPECT_EQ(bundle.files, 10u);
  EXPECT_EQ(bundle.digest, digest_of_file(archive()));
  EXPECT_EQ(bundle.packed, fs::file_size(archive()));
}

TEST_F(ArchiveTest, RandomTreesComeBackAndKeepTheirBytesWhateverTheOrderTheyWereMadeIn) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::string, std::string>> files;
    for (int i = 0; i < 30; ++i) {
      std::string name;
      for (auto depth = random() % 4; depth > 0; --depth)
        name += std::string(1, static_cast<char>('a' + random() % 3)) + "/";
      name += "f" + std::to_string(i);
      files.emplace_back(name, std::string(random() % 5000, static_cast<char>('0' + random() % 10)));
    }
    std::string first;
    for (int round = 0; round < 2; ++round) {
      fs::remove_all(tree());
      std::shuffle(files.begin(), files.end(), random);
      for (const auto& [name, text] : files) {
        put(name, text);
        const timespec times[2] = {{static_cast<time_t>(random() % 1'000'000), 0},
                                   {static_cast<time_t>(random()), 5}};
        ASSERT_EQ(::utimensat(AT_FDCWD, (tree() / name).c_str(), times, 0), 0);
        ASSERT_EQ(::chmod((tree() / name).c_str(), round == 0 ? 0644 : 0600), 0);
      }
      pack();
      if (round == 0) first = bytes();
    }
    EXPECT_EQ(bytes(), first) << "seed " << seed;
    fs::remove_all(unpacked());
    unpack_bundle(archive(), unpacked());
    EXPECT_EQ(contents(unpacked()), contents(tree())) << "seed " << seed;
  }
}

TEST_F(ArchiveTest, OtherProgramsReadIt) {
  put("a/b.txt", "hello");
  put(std::string(150, 'n'), "long");
  pack();
  const auto command = "tar --zstd -tf " + archive().string() + " > " + (directory_.path() / "list").string();
  if (std::system("tar --version > /dev/null 2>&1 && zstd --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no tar or no zstd";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(directory_.path() / "list"), "a/\na/b.txt\n" + std::string(150, 'n') + "\n");
}

TEST_F(ArchiveTest, GitOldRunsStudiesAndCachesStayBehindByThemselves) {
  put("train.py", "");
  put(".git/config", "");
  put("runs/digits-1/model.pt", "");
  put("studies/lr/writer-0/log", "");
  put("src/__pycache__/x.pyc", "");
  put("src/runs/kept", "");
  EXPECT_THAT(names_after(), testing::ElementsAre("src", "src/runs", "src/runs/kept", "train.py"));
}

TEST_F(ArchiveTest, TheIgnoreFileDecidesAndMayTakeBackADefault) {
  put(".longshipignore", "*.h5\n!keep.h5\n!/runs/\n.git\n");
  put("a.h5", "");
  put("keep.h5", "");
  put("runs/x", "");
  EXPECT_THAT(names_after(), testing::ElementsAre(".longshipignore", "keep.h5", "runs", "runs/x"));
}

TEST_F(ArchiveTest, GitStaysBehindWhateverTheIgnoreFileSays) {
  put(".longshipignore", "!.git\n");
  put(".git/config", "");
  EXPECT_THAT(names_after(), testing::ElementsAre(".longshipignore"));
}

TEST_F(ArchiveTest, AHugeFileFailsAtOnceAndIsNamed) {
  put("train.py", "x");
  put("data/part/train.h5", "");
  fs::resize_file(tree() / "data/part/train.h5", 5'000'000'000);  // sparse: reading it would take seconds
  const auto message = message_of([&] { pack(); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("cannot bundle " + tree().string() + ": 5.0 GB, more than the limit of 105 MB"),
                    HasSubstr("\n    5.0 GB  data/part/train.h5"), HasSubstr(".longshipignore")));
  EXPECT_FALSE(fs::exists(archive()));
}

TEST_F(ArchiveTest, ManyFilesOfADirectoryAreNamedTogetherAndOnlyTheTenLargest) {
  for (int i = 0; i < 50; ++i) put("images/" + std::to_string(i), std::string(100, 'x'));
  for (int i = 0; i < 12; ++i) put("file" + std::to_string(i), std::string(10, 'x'));
  const auto message = message_of([&] { pack({.limit = 100}); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("5.1 kB, more than the limit of 100 B"), HasSubstr("5.0 kB  images/\n")));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 11);
}

TEST_F(ArchiveTest, TooManyEntriesAreAnErrorThatSaysWhere) {
  for (int i = 0; i < 20; ++i) put("many/" + std::to_string(i), "");
  EXPECT_THAT(message_of([&] { pack({.most_entries = 10}); }),
              AllOf(HasSubstr("more than 10 files and directories"), HasSubstr("10 entries  many/")));
  EXPECT_NO_THROW(pack({.most_entries = 21}));
}

TEST_F(ArchiveTest, ExactlyTheLimitIsAllowed) {
  put("a", std::string(100, 'x'));
  EXPECT_NO_THROW(pack({.limit = 100}));
  EXPECT_THROW(pack({.limit = 99}), Error);
}

TEST_F(ArchiveTest, SpecialFilesAreNamed) {
  ASSERT_EQ(::mkfifo((tree() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { pack(); }), HasSubstr("pipe is a pipe, which cannot be carried"));
  fs::remove(tree() / "pipe");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (tree() / "s").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(message_of([&] { pack(); }), HasSubstr("s is a socket"));
  ::close(fd);
}

TEST_F(ArchiveTest, LinksThatLeadOutAreNamed) {
  const std::map<std::string, std::string> wrong = {
      {"/etc/passwd", "is absolute, so it leads out of the directory"},
      {"../up", "leads out of the directory"},
      {"a/../../up", "has \"..\" after a name"},
  };
  for (const auto& [target, reason] : wrong) {
    fs::remove(tree() / "link");
    fs::create_symlink(target, tree() / "link");
    EXPECT_THAT(message_of([&] { pack(); }), HasSubstr("the link link -> " + target + " " + reason));
  }
}

TEST_F(ArchiveTest, AFileThatNobodyMayReadIsNamed) {
  put("secret", "x");
  ASSERT_EQ(::chmod((tree() / "secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0777), 0);
  const auto before = ::geteuid();
  if (before == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may read everything
  }
  const auto message = message_of([&] { pack(); });
  ASSERT_EQ(::seteuid(before), 0);
  EXPECT_THAT(message, HasSubstr("cannot read secret: Permission denied"));
}

// It is written to again and again while it is read: it takes longer to read than to be touched.
TEST_F(ArchiveTest, AFileThatKeepsChangingIsTriedThreeTimesAndNamed) {
  put("log", "x");
  fs::resize_file(tree() / "log", 64 << 20);  // long enough to read that the writer has its turn meanwhile
  std::atomic<bool> stop = false, begun = false;
  std::thread writer([&] {
    const auto fd = open_file(tree() / "log", O_WRONLY | O_APPEND);
    while (!stop && ::lseek(fd.get(), 0, SEEK_END) < (96 << 20)) {
      write_all(fd.get(), "more\n");
      begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  const auto message = message_of([&] { pack(); });
  stop = true;
  writer.join();
  EXPECT_THAT(message, HasSubstr("log changes while it is being read: list it in .longshipignore"));
  EXPECT_FALSE(fs::exists(archive()));
  pack();
  EXPECT_TRUE(fs::exists(archive()));
}

TEST_F(ArchiveTest, ADirectoryThatIsNotThereIsNamed) {
  EXPECT_THAT(message_of([&] { pack_bundle(tree() / "nope", archive()); }),
              HasSubstr("nope: No such file or directory"));
}

TEST_F(ArchiveTest, NothingStaysBesideTheArchive) {
  put("a", "x");
  pack();
  unpack_bundle(archive(), unpacked());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("tree", "code.tar.zst", "unpacked"));
}

// Archives that a person with bad intentions could send.
class HostileArchiveTest : public ArchiveTest {
 protected:
  std::string unpack_error(const std::string& tar, const UnpackOptions& options = {}) {
    {
      PendingFile file(archive());
      ZstdWriter writer(file.fd());
      writer.write(tar);
      writer.finish();
      file.commit();
    }
    const auto message = message_of([&] { unpack_bundle(archive(), unpacked(), options); });
    EXPECT_EQ(fs::exists(unpacked()), message.empty()) << "a bundle is there as a whole or not at all";
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      EXPECT_THAT(entry.path().filename().string(), Not(testing::StartsWith(".unpacking")));
    return message;
  }
  static std::string member(const std::string& name, Member::Kind kind = Member::Kind::file,
                            const std::string& more = "") {
    Member made{name, kind, false, kind == Member::Kind::file ? more.size() : 0,
                kind == Member::Kind::link ? more : ""};
    return tar_header(made) +
           (kind == Member::Kind::file ? more + std::string(tar_padding(more.size()), '\0') : "");
  }
  static std::string patched(std::string block, std::size_t at, std::string_view bytes) {
    block.replace(at, bytes.size(), bytes);
    block.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : block.substr(0, 512)) sum += static_cast<unsigned char>(c);
    block.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
    return block;
  }
  void overwrite(const std::string& bytes) { std::ofstream(archive(), std::ios::binary) << bytes; }
  const std::string end_ = std::string(1024, '\0');
};

TEST_F(HostileArchiveTest, NamesThatLeadOutAreRefused) {
  for (const auto* name : {"../evil", "a/../../evil", "/etc/evil", "a//b", "./a", "a/.", ".."})
    EXPECT_THAT(unpack_error(member(name, Member::Kind::file, "x") + end_),
                HasSubstr(fmt::format("\"{}\" is", name)))
        << name;
  EXPECT_FALSE(fs::exists(directory_.path() / "evil"));
}

TEST_F(HostileArchiveTest, LinksThatLeadOutAreRefused) {
  for (const auto* target : {"/etc", "..", "a/..", "a/../../x"})
    EXPECT_THAT(unpack_error(member("link", Member::Kind::link, target) + end_),
                HasSubstr("the link link ->"))
        << target;
}

TEST_F(HostileArchiveTest, NothingIsWrittenThroughALink) {
  const auto directory = member("real", Member::Kind::directory),
             link = member("link", Member::Kind::link, "real");
  EXPECT_THAT(unpack_error(directory + link + member("link/x", Member::Kind::file, "x") + end_),
              Not(testing::IsEmpty()));
  EXPECT_THAT(unpack_error(directory + link + member("link", Member::Kind::file, "x") + end_),
              EndsWith("cannot make link: File exists"));
}

TEST_F(HostileArchiveTest, NamesThatComeTwiceAreRefused) {
  EXPECT_THAT(unpack_error(member("a") + member("a") + end_), EndsWith("cannot make a: File exists"));
}

TEST_F(HostileArchiveTest, AFileWithoutItsDirectoryIsRefused) {
  EXPECT_THAT(unpack_error(member("a/b") + end_), EndsWith("No such file or directory"));
}

TEST_F(HostileArchiveTest, OtherKindsOfMembersAreRefused) {
  for (const char* type : {"1", "3", "4", "6", "7", "g", "L", "S"})
    EXPECT_THAT(unpack_error(patched(member("a"), 156, type) + end_),
                HasSubstr(fmt::format("a: a member of type \"{}\", which no bundle holds", type)));
}

TEST_F(HostileArchiveTest, BrokenHeadersAreRefused) {
  auto flipped = member("a");
  flipped[0] ^= 1;
  EXPECT_THAT(unpack_error(flipped + end_), EndsWith("a tar header with a wrong checksum"));
  EXPECT_THAT(unpack_error(patched(member("a"), 257, "gnutar") + end_),
              EndsWith("a header that is not ustar"));
  EXPECT_THAT(unpack_error(patched(member("a"), 124, "99999999999") + end_),
              EndsWith("a tar header with a wrong number"));
  EXPECT_THAT(unpack_error(patched(member("d", Member::Kind::directory), 124, "00000000001") + end_),
              EndsWith("d: only a file has a size"));
}

TEST_F(HostileArchiveTest, BrokenPaxHeadersAreRefused) {
  const auto pax = [&](const std::string& records) {
    auto header = patched(member("pax", Member::Kind::file, records), 156, "x");
    return header + member("a") + end_;
  };
  EXPECT_EQ(unpack_error(pax("10 path=b\n")), "");
  EXPECT_TRUE(fs::exists(unpacked() / "b"));
  fs::remove_all(unpacked());
  for (const auto* records : {"x", "99 path=b\n", "3 x", "0 path=b\n", "7 path\n", "8 path=\n"})
    EXPECT_THAT(unpack_error(pax(records)), HasSubstr("a pax header")) << records;
  EXPECT_THAT(unpack_error(pax("11 mtime=5\n")), HasSubstr("with the key \"mtime\", which no bundle has"));
  EXPECT_THAT(unpack_error(pax("15 path=../out\n")), HasSubstr("\"../out\" is not a plain name"));
  EXPECT_THAT(unpack_error(pax(std::string(70'000, 'x'))), HasSubstr("a pax header of 70000 bytes"));
  const auto one = patched(member("pax", Member::Kind::file, "10 path=b\n"), 156, "x");
  EXPECT_THAT(unpack_error(one + one + member("a") + end_), EndsWith("two pax headers for one member"));
}

TEST_F(HostileArchiveTest, AnArchiveThatEndsTooEarlyIsRefused) {
  EXPECT_THAT(unpack_error(member("a")), EndsWith("the archive ends within a member"));
  EXPECT_THAT(unpack_error(member("a", Member::Kind::file, std::string(1000, 'x')).substr(0, 700)),
              EndsWith("the archive ends within a member"));
  EXPECT_THAT(unpack_error(member("a") + end_.substr(0, 512) + member("b")),
              EndsWith("in the midst of the archive"));
  EXPECT_THAT(unpack_error(member("a") + end_ + "more"),
              EndsWith("something follows after the end of the archive"));
}

TEST_F(HostileArchiveTest, PaddingHidesNothing) {
  auto padded = member("a", Member::Kind::file, "x");
  padded.back() = 'h';
  EXPECT_THAT(unpack_error(padded + end_), EndsWith("padding that is not zeros"));
}

TEST_F(HostileArchiveTest, ABombStopsAtTheLimit) {
  EXPECT_THAT(unpack_error(member("a", Member::Kind::file, std::string(2000, '\0')) + end_, {.limit = 1999}),
              EndsWith("unpacks to more than the limit of 2.0 kB"));
  EXPECT_THAT(unpack_error(member("a") + member("b") + end_, {.most_entries = 1}),
              EndsWith("more than 1 entries"));
}

TEST_F(HostileArchiveTest, AnotherDigestThanPromisedIsRefused) {
  EXPECT_THAT(unpack_error(member("a") + end_, {.digest = digest_of("other")}),
              HasSubstr("its digest is sha256:"));
}

TEST_F(HostileArchiveTest, CompressedBytesThatAreCutOrFlippedAreRefused) {
  put("a", std::string(10'000, 'x') + "tail");
  pack();
  const auto whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(whole.substr(0, size));
    EXPECT_THROW(unpack_bundle(archive(), unpacked()), Error) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    overwrite(flipped);
    EXPECT_THROW(unpack_bundle(archive(), unpacked(), {.digest = digest_of(whole)}), Error) << at;
  }
  write_file(archive(), whole + whole);
  EXPECT_THAT(message_of([&] { unpack_bundle(archive(), unpacked()); }),
              EndsWith("something follows after the end of the archive"));
}

TEST_F(ArchiveTest, ADirectoryWithSomethingInItIsLeftAlone) {
  put("a", "x");
  pack();
  fs::create_directories(unpacked());
  write_file(unpacked() / "mine", "x");
  EXPECT_THAT(message_of([&] { unpack_bundle(archive(), unpacked()); }), HasSubstr("Directory not empty"));
  EXPECT_EQ(contents(unpacked()).size(), 1u);
}

}  // namespace
}  // namespace longship::formats
