// SPDX-License-Identifier: Apache-2.0
// What COPY takes from a context that somebody else wrote.
#include "image/copy_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/file.h"
#include "expect.h"

namespace longship::image {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Files = std::map<std::string, std::string>;

class Collected final : public MemberSink {
 public:
  void add(const Member& member, ByteSource& content) override {
    if (member.kind == Kind::file) files[member.path] = read_rest(content, 1 << 20);
  }
  Files files;
};

class CopyLayerTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path context() const { return directory_.path() / "context"; }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((context() / name).parent_path());
    write_file(context() / name, text);
  }
  [[nodiscard]] Files copy(std::vector<std::string> sources, std::string destination = "/to/",
                           Ignored ignored = {}) const {
    Collected sink;
    copy_layer({context(), std::move(sources), std::move(destination), std::move(ignored)})->read(sink);
    return sink.files;
  }

  TemporaryDirectory directory_;
};

TEST_F(CopyLayerTest, FilesGoByTheirNameAndDirectoriesByWhatIsInThem) {
  put("a", "1");
  put("d/b", "2");
  EXPECT_THAT(copy({"a", "d"}), ElementsAre(Pair("to/a", "1"), Pair("to/b", "2")));
  EXPECT_THAT(copy({"a"}, "/other"), ElementsAre(Pair("other", "1")));
  EXPECT_THAT(copy({"."}), ElementsAre(Pair("to/a", "1"), Pair("to/d/b", "2")));
}

TEST_F(CopyLayerTest, PatternsMatchNamesThatAreNotIgnored) {
  put("d/a.py", "a");
  put("d/b.py", "b");
  put("d/c.txt", "c");
  const Ignored ignored = [](const std::string& path, bool) { return path == "d/b.py"; };
  EXPECT_THAT(copy({"d/*.py"}, "/to/", ignored), ElementsAre(Pair("to/a.py", "a")));
  EXPECT_THAT(message_of([&] { (void)copy({"d/*.c"}); }), HasSubstr("nothing in the context matches d/*.c"));
}

// A name that exists in the context and, by a link in it, outside: what is outside must not be read.
TEST_F(CopyLayerTest, ALinkOfTheContextDoesNotLeadOut) {
  const auto secret = directory_.path() / "outside" / "keys";
  fs::create_directories(secret);
  write_file(secret / "id", "secret");
  put("decoy", "");
  fs::create_directory_symlink(directory_.path() / "outside", context() / "link");
  fs::create_directories(context() / (directory_.path() / "outside/keys").relative_path());
  for (const char* source : {"link/keys", "link/keys/", "link/k*", "link"})
    EXPECT_THAT(copy({source}), ElementsAre()) << source;
  EXPECT_THAT(message_of([&] { (void)copy({"link/keys/id"}); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of([&] { (void)copy({"link/keys/*"}); }), HasSubstr("nothing in the context"));
}

TEST_F(CopyLayerTest, AFifoIsNamedAndHoldsNobody) {
  put("a", "");
  ASSERT_EQ(::mkfifo((context() / "pipe").c_str(), 0666), 0);
  EXPECT_THAT(message_of([&] { (void)copy({"pipe"}); }), HasSubstr("pipe is neither a file nor a directory"));
}

}  // namespace
}  // namespace longship::image
