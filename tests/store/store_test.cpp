// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"

namespace longship::store {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  Image add(const std::string& name, const std::string& content) {
    Aside file = store_.aside();
    write_all(file.fd(), content);
    Image image;
    image.name = name;
    image.config.environment["A"] = "b";
    image.config.command = {"sh", "-c", "true"};
    image.facts.libc = "glibc 2.36";
    image.facts.software.emplace().emplace("cuda", "11.8");
    return store_.add(image, std::move(file));
  }
  [[nodiscard]] static std::size_t count(const fs::path& directory) {
    return fs::exists(directory)
               ? static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}))
               : 0;
  }
  std::string error_of_find(const std::string& name) {
    try {
      (void)store_.find(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  Store store_{directory_.path() / "store"};
};

TEST_F(StoreTest, WhatIsAddedIsFoundWithAllItsParts) {
  add("team/torch:v2", "content");
  const Image found = store_.find("team/torch:v2");
  EXPECT_EQ(found.size, 7u);
  EXPECT_EQ(found.config.environment.at("A"), "b");
  EXPECT_EQ(found.config.command.size(), 3u);
  EXPECT_EQ(found.facts.libc, "glibc 2.36");
  EXPECT_EQ(found.facts.software->at("cuda"), "11.8");
  EXPECT_EQ(read_file(store_.root_of(found)), "content");
}

TEST(ImageRecord, OneThatWasMadeBeforeSoftwareWasLookedForIsRead) {
  Image image;
  image.name = "old";
  image.root = "sha256:" + std::string(64, 'a');
  image.facts.mpi = "mpich 4.0.2";
  const auto record = to_json(image);
  EXPECT_EQ(formats::dump_json(record).find("software"), std::string::npos);
  EXPECT_FALSE(image_from_json(record).facts.software);
  image.facts.software.emplace();  // looked for, and nothing found
  EXPECT_TRUE(image_from_json(to_json(image)).facts.software);
}

TEST_F(StoreTest, AMissingImageComesWithTheNearestNameAndTheWayToMakeOne) {
  add("debian-torch", "x");
  EXPECT_THAT(error_of_find("debian-troch"), HasSubstr("did you mean \"debian-torch\"?"));
  EXPECT_THAT(error_of_find("debian-troch"), HasSubstr("longship image bootstrap"));
}

TEST_F(StoreTest, NamesThatCouldLeadElsewhereAreRefused) {
  for (const char* name : {"", "../x", "/x", "a//b", "A", "a:b:c", "a b", "-x", "a/.hidden", "a+b", "x:"})
    EXPECT_THROW(validate_name(name), Error) << name;
  for (const char* name : {"a", "a/b-c_d.e", "a:v1.2"}) EXPECT_NO_THROW(validate_name(name)) << name;
}

TEST_F(StoreTest, RemovingANameRemovesOnlyWhatNobodyElseUses) {
  add("a", "same");
  add("b", "same");
  add("c", "other");
  store_.remove("a");
  store_.remove("c");
  EXPECT_EQ(count(store_.location() / "blobs" / "sha256"), 1u);
  EXPECT_NO_THROW((void)store_.find("b"));
  EXPECT_THROW(store_.remove("a"), Error);
}

TEST_F(StoreTest, StepsGoWithTheImageTheyWereMadeFor) {
  const Image image = add("a", "x");
  const std::string key = "sha256:" + std::string(64, 'a');
  store_.add_step(key, image);
  EXPECT_TRUE(store_.find_step(key));
  store_.remove("a");
  EXPECT_FALSE(store_.find_step(key));
  EXPECT_EQ(count(store_.location() / "blobs" / "sha256"), 0u);
}

TEST_F(StoreTest, WhatAKilledProcessLeftIsRemovedAndWhatALivingOneHasIsNot) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Aside file = store_.aside();
    write_all(file.fd(), "half");
    write_all((void(file.directory()), ready[1]), "x");
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  { const Aside other = store_.aside(); }
  EXPECT_EQ(count(store_.location() / "asides"), 2u);  // the living one's file and directory
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  { const Aside other = store_.aside(); }
  EXPECT_EQ(count(store_.location() / "asides"), 0u);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StoreTest, AFullDiskLeavesNothingBehindAndSaysSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
  const fs::path small = directory_.path() / "small";
  fs::create_directory(small);
  if (::mount("none", small.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "cannot mount a tmpfs here";
  const Store full(small / "store");
  try {
    const Aside file = full.aside();
    write_all(file.fd(), std::string(1 << 20, 'x'));
    ADD_FAILURE() << "it fitted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("No space left on device"));
  }
  EXPECT_EQ(count(small / "store" / "asides"), 0u);
  ::umount2(small.c_str(), MNT_DETACH);
}

TEST_F(StoreTest, ANewerRecordIsLeftAloneWithItsFiles) {
  add("a", "x");
  fs::create_directories(store_.location() / "images");
  write_file(store_.location() / "images" / "new.json", R"({"version": 2})");
  EXPECT_EQ(store_.list().size(), 1u);
  EXPECT_THAT(error_of_find("new"), HasSubstr("newer Longship"));
  store_.remove("a");
  EXPECT_EQ(count(store_.location() / "blobs" / "sha256"), 1u);  // who knows what the newer one refers to
}

}  // namespace
}  // namespace longship::store
