// SPDX-License-Identifier: Apache-2.0
#include "launch/reception.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

namespace longship::launch {
namespace {

using testing::HasSubstr;

TEST(Reception, AHelperIsAdmitted) {
  const Reception reception;
  const Fd helper = reach_launcher(reception.name);
  const Fd launcher = admit_helper(reception.socket.get());
  ASSERT_TRUE(launcher);
  ASSERT_EQ(::write(helper.get(), "x", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(launcher.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST(Reception, NobodyIsThereAfterItsEnd) {
  std::string name;
  {
    const Reception reception;
    name = reception.name;
  }
  EXPECT_THAT(message_of([&] { (void)reach_launcher(name); }), HasSubstr("cannot reach the launcher"));
  EXPECT_THAT(message_of([&] { (void)reach_launcher(std::string(200, 'x')); }),
              HasSubstr("is no launcher's name"));
}

// Its user shall not run what somebody else wants, nor the launcher listen to somebody else.
TEST(Reception, AnotherUserIsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const Reception reception;
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto said = message_of([&] { (void)reach_launcher(reception.name); });
    ::_exit(said.find("belongs to somebody else") != std::string::npos ? 0 : 1);
  }
  EXPECT_FALSE(admit_helper(reception.socket.get()));
  int status = 0;
  ::waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace longship::launch
