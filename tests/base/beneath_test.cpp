// SPDX-License-Identifier: Apache-2.0
// The kernel's way and the fallback must agree in every row of the table.
#include "base/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace longship {
namespace {

namespace fs = std::filesystem;

using Opener = Fd (*)(int, std::string_view, int, unsigned, Links);

struct Way {
  const char* name;
  Opener open;
};

class BeneathTest : public testing::TestWithParam<Way> {
 protected:
  BeneathTest() {
    fs::create_directories(root() / "a" / "b");
    write_file(root() / "a" / "f", "inside");
    write_file(home_.path() / "secret", "outside");
    fs::create_symlink("f", root() / "a" / "near");
    fs::create_symlink("../../secret", root() / "a" / "climb");
    fs::create_symlink("/a/f", root() / "absolute");
    fs::create_symlink("/", root() / "top");
    fs::create_symlink("loop", root() / "loop");
    fs::create_symlink("a", root() / "dir");
    directory_ = open_file(root(), O_PATH | O_DIRECTORY);
  }
  [[nodiscard]] fs::path root() const { return home_.path() / "root"; }

  // What is read there, or "errno N".
  std::string look(std::string_view path, Links links) {
    try {
      const Fd fd = GetParam().open(directory_.get(), path, O_RDONLY, 0, links);
      struct stat about {};
      ::fstat(fd.get(), &about);
      if (S_ISDIR(about.st_mode)) return "directory";
      char buffer[64];
      const auto got = ::read(fd.get(), buffer, sizeof buffer);
      return {buffer, static_cast<std::size_t>(got)};
    } catch (const Error& error) {
      return std::to_string(error.number());
    }
  }

  TemporaryDirectory home_;
  Fd directory_;
};

TEST_P(BeneathTest, NoLinksAtAll) {
  const auto forbid = [this](std::string_view path) { return look(path, Links::forbid); };
  EXPECT_EQ(forbid("a/f"), "inside");
  EXPECT_EQ(forbid("./a//f"), "inside");
  EXPECT_EQ(forbid("a/b/../f"), "inside");
  EXPECT_EQ(forbid("a"), "directory");
  EXPECT_EQ(forbid("."), "directory");
  EXPECT_EQ(forbid("../secret"), std::to_string(EXDEV));
  EXPECT_EQ(forbid("a/../../secret"), std::to_string(EXDEV));
  EXPECT_EQ(forbid("/a/f"), std::to_string(EXDEV));
  EXPECT_EQ(forbid("a/near"), std::to_string(ELOOP));
  EXPECT_EQ(forbid("a/climb"), std::to_string(ELOOP));
  EXPECT_EQ(forbid("dir/f"), std::to_string(ELOOP));
  EXPECT_EQ(forbid("a/missing"), std::to_string(ENOENT));
  EXPECT_EQ(forbid("a/f/x"), std::to_string(ENOTDIR));
  EXPECT_EQ(forbid(""), std::to_string(ENOENT));
}

TEST_P(BeneathTest, LinksStayInside) {
  const auto confine = [this](std::string_view path) { return look(path, Links::confine); };
  EXPECT_EQ(confine("a/near"), "inside");
  EXPECT_EQ(confine("absolute"), "inside");
  EXPECT_EQ(confine("top/a/f"), "inside");
  EXPECT_EQ(confine("dir/f"), "inside");
  EXPECT_EQ(confine("/a/f"), "inside");
  EXPECT_EQ(confine("top"), "directory");
  EXPECT_EQ(confine("a/climb"),
            std::to_string(ENOENT));  // ".." at the root is the root, and there is no /secret in it
  EXPECT_EQ(confine("../../a/f"), "inside");
  EXPECT_EQ(confine("loop"), std::to_string(ELOOP));
}

TEST_P(BeneathTest, FilesAreMadeInsideOnly) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL;
  write_all(GetParam().open(directory_.get(), "a/b/new", flags, 0644, Links::forbid).get(), "made");
  EXPECT_EQ(read_file(root() / "a" / "b" / "new"), "made");
  EXPECT_THROW((void)GetParam().open(directory_.get(), "../new", flags, 0644, Links::forbid), Error);
  EXPECT_FALSE(fs::exists(home_.path() / "new"));
}

TEST_P(BeneathTest, DescriptorsCloseOnExec) {
  const Fd fd = GetParam().open(directory_.get(), "a/f", O_RDONLY, 0, Links::forbid);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

INSTANTIATE_TEST_SUITE_P(Ways, BeneathTest,
                         testing::Values(Way{"Kernel", &open_beneath},
                                         Way{"Steps", &detail::open_beneath_by_steps}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace longship
