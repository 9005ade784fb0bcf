// SPDX-License-Identifier: Apache-2.0
#include "base/control.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "abi/longship.h"
#include "base/file.h"

namespace longship {
namespace {

// In a process of its own: the page is looked for only once.
int wanted_with(const std::string& control) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LONGSHIP_CONTROL", control.c_str(), 1);
    ::_exit(static_cast<int>(longship_checkpoint_wanted()));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string page(std::uint32_t wanted, std::uint32_t version = ControlPage::right_version) {
  ControlPage content;
  content.checkpoints_wanted = wanted;
  content.version = version;
  return {reinterpret_cast<const char*>(&content), sizeof content};
}

TEST(Control, TellsHowOftenACheckpointWasAskedFor) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "page", page(3));
  EXPECT_EQ(wanted_with(directory.path() / "page"), 3);
}

TEST(Control, WithoutAPageNobodyAsks) {
  const TemporaryDirectory directory;
  EXPECT_EQ(wanted_with(""), 0);
  EXPECT_EQ(wanted_with(directory.path() / "missing"), 0);
  EXPECT_EQ(wanted_with(directory.path()), 0);
  write_file(directory.path() / "short", "short");
  EXPECT_EQ(wanted_with(directory.path() / "short"), 0);
  write_file(directory.path() / "other", std::string(100, 'x'));
  EXPECT_EQ(wanted_with(directory.path() / "other"), 0);
  write_file(directory.path() / "later", page(3, 2));
  EXPECT_EQ(wanted_with(directory.path() / "later"), 0);
}

}  // namespace
}  // namespace longship
