// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "expect.h"
#include "message/spool.h"

namespace longship::message {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

class SpoolTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  Spool spool_{directory_.path() / "a" / "spool"};
};

TEST_F(SpoolTest, IsMadePrivateAndMayBeMadeTwice) {
  spool_.make();
  spool_.make();
  for (const auto* inner : {"", "code", "checkpoints", "pilots", "attempts"})
    EXPECT_EQ(mode_of(spool_.root() / inner), 0700u) << inner;
}

TEST_F(SpoolTest, OneThatOthersMayReadIsMadePrivate) {
  fs::create_directories(spool_.root());
  ASSERT_EQ(::chmod(spool_.root().c_str(), 0777), 0);
  spool_.make();
  EXPECT_EQ(mode_of(spool_.root()), 0700u);
}

TEST_F(SpoolTest, OneOfAnotherAccountIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directories(spool_.root());
  ASSERT_EQ(::chown(spool_.root().c_str(), 12345, 12345), 0);
  EXPECT_THAT(message_of([&] { spool_.make(); }), HasSubstr("belongs to the account with number 12345"));
}

TEST_F(SpoolTest, AFileOrALinkInTheWayIsNamed) {
  fs::create_directories(spool_.root());
  fs::create_directory_symlink("/tmp", spool_.root() / "attempts");
  EXPECT_THAT(message_of([&] { spool_.make(); }), HasSubstr("attempts is in the way"));
  EXPECT_THAT(message_of([] { Spool("spool").make(); }), HasSubstr("absolute path"));
  write_file(directory_.path() / "file", "");
  EXPECT_THAT(message_of([&] { Spool(directory_.path() / "file" / "x" / "y").make(); }),
              HasSubstr("the spool"));
  EXPECT_THAT(message_of([&] { Spool(directory_.path() / "file").make(); }), HasSubstr("file is in the way"));
  EXPECT_THAT(message_of([&] { Spool("/proc/nothing").make(); }),
              HasSubstr("cannot make the spool's directory"));
}

TEST_F(SpoolTest, NamesLeadToTheirPlaces) {
  const Spool spool("/s");
  EXPECT_EQ(spool.code("sha256:" + std::string(64, 'a')), "/s/code/" + std::string(64, 'a') + ".tar.zst");
  EXPECT_EQ(spool.checkpoints("digits-7"), "/s/checkpoints/digits-7");
  EXPECT_EQ(spool.pilot("p0123456789ab"), "/s/pilots/p0123456789ab");
  EXPECT_EQ(spool.attempt({"digits-7", 2}), "/s/attempts/digits-7.2");
}

TEST_F(SpoolTest, NoNameLeadsElsewhere) {
  const Spool spool("/s");
  for (const auto* name :
       {"", ".", "..", "/etc", "a/b", "../x", "a/../../b-1", "A", "a b", "-a", "a-0", "a-1/"}) {
    EXPECT_THROW((void)spool.code(name), Error) << name;
    EXPECT_THROW((void)spool.checkpoints(name), Error) << name;
    EXPECT_THROW((void)spool.pilot(name), Error) << name;
    EXPECT_THROW((void)spool.attempt({name, 1}), Error) << name;
  }
  EXPECT_THROW((void)spool.attempt({"a-1", 0}), Error);
  EXPECT_THROW((void)spool.attempt({"a-1.1/../x-1", 1}), Error);
  EXPECT_THROW((void)spool.code("sha256:" + std::string(61, 'a') + "/.."), Error);
}

TEST_F(SpoolTest, AnOrderReadsBackAsItWasWritten) {
  const PilotOrder order{.pilot = "p1",
                         .site = "lab",
                         .nodes = 2,
                         .walltime = std::chrono::hours(1),
                         .look_every = std::chrono::milliseconds(50),
                         .idle_limit = std::chrono::seconds(5),
                         .checkpoint_before = std::chrono::seconds(9),
                         .image_store = "/store",
                         .engine = "other"};
  write_order(directory_.path(), order);
  EXPECT_EQ(read_order(directory_.path()), order);
  EXPECT_EQ(mode_of(directory_.path() / "pilot.json"), 0600u);
}

TEST_F(SpoolTest, WhatIsWrongInAnOrderIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "the document ends too early"},
      {"{}", "version: missing"},
      {R"({"version":2,"pilot":"p1"})", "version: this pilot reads version 1, found 2"},
      {R"({"version":1})", "pilot: missing"},
      {R"({"version":1,"pilot":"../x"})", "pilot: a pilot's name has small letters and digits"},
      {R"({"version":1,"pilot":"p1","nodes":0})", "nodes: expected an integer from 1"},
      {R"({"version":1,"pilot":"p1","walltime":-1})", "walltime: expected an integer from 0"},
      {R"({"version":1,"pilot":"p1","engine":1})", "engine: expected text"}};
  for (const auto& [text, expected] : wrong) {
    write_file(directory_.path() / "pilot.json", text);
    EXPECT_THAT(message_of([&] { (void)read_order(directory_.path()); }), HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace longship::message
