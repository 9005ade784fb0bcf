// SPDX-License-Identifier: Apache-2.0
#include "image/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "image/credentials.h"

namespace longship::image {
namespace {

using testing::HasSubstr;

TEST(ChallengeTest, ParametersAreFoundWhateverTheirOrderAndQuotes) {
  const auto found = parse_challenge(
      R"(Bearer realm="https://auth.example.org/token",service="a, b",scope="repository:x/y:pull")");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scheme, "bearer");
  EXPECT_EQ(found->realm, "https://auth.example.org/token");
  EXPECT_EQ(found->service, "a, b");
  EXPECT_EQ(found->scope, "repository:x/y:pull");
  EXPECT_EQ(parse_challenge("basic realm=plain")->realm, "plain");
  EXPECT_EQ(parse_challenge(R"(Basic realm="a\"b")")->realm, "a\"b");
}

TEST(ChallengeTest, WhatIsNoneIsNothingAndNothingHangs) {
  EXPECT_FALSE(parse_challenge(""));
  EXPECT_FALSE(parse_challenge("Negotiate abc"));
  for (const auto* text :
       {"Bearer ,,,", "Bearer realm", "Bearer realm=", "Bearer realm=\"", "Bearer =x", "Bearer a=\"\\"})
    EXPECT_TRUE(parse_challenge(text)) << text;
}

struct CredentialsTest : testing::Test {
  TemporaryDirectory home;
  Environment environment{{"HOME", home.path().string()}};

  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((home.path() / file).parent_path());
    write_file(home.path() / file, text);
  }
};

TEST_F(CredentialsTest, DockersFileIsRead) {
  write(
      ".docker/config.json",
      R"({"auths": {"host:5000": {"auth": "YWRhOnNlOmNyZXQ="}, "https://other/v1/": {"identitytoken": "t"}}})");
  const CredentialFiles files(environment);
  ASSERT_TRUE(files.find("host:5000"));
  EXPECT_EQ(files.find("host:5000")->user, "ada");
  EXPECT_EQ(files.find("host:5000")->password, "se:cret");
  EXPECT_EQ(files.find("other")->identity_token, "t");
  EXPECT_FALSE(files.find("host"));
  EXPECT_FALSE(files.find("host:50"));
}

TEST_F(CredentialsTest, OurOwnComesFirstAndIsKeptPrivate) {
  write(".docker/config.json", R"({"auths": {"host": {"auth": "YTpi"}}})");
  const CredentialFiles files(environment);
  files.remember("host", {"ours", "secret", {}});
  files.remember("second", {"x", "y", {}});
  EXPECT_EQ(files.find("host")->user, "ours");
  EXPECT_EQ(std::filesystem::status(files.own()).permissions(), std::filesystem::perms(0600));
  EXPECT_TRUE(files.forget("host"));
  EXPECT_FALSE(files.forget("host"));
  EXPECT_EQ(files.find("host")->user, "a");
  EXPECT_EQ(files.find("second")->user, "x");
}

TEST_F(CredentialsTest, DockersOwnRegistryIsKnownByBothItsNames) {
  write(".docker/config.json", R"({"auths": {"https://index.docker.io/v1/": {"auth": "YTpi"}}})");
  const CredentialFiles files(environment);
  EXPECT_EQ(files.find("docker.io")->user, "a");
  files.remember("docker.io", {"ours", "secret", {}});
  EXPECT_EQ(files.find("docker.io")->user, "ours");
  EXPECT_TRUE(files.forget("docker.io"));
  EXPECT_EQ(files.find("docker.io")->user, "a");
}

TEST_F(CredentialsTest, AHelperIsAskedForDockersOwnRegistryByTheNameThatDockerGaveIt) {
  write("bin/docker-credential-shelf",
        "#!/bin/sh\nread -r asked\n"
        "printf '{\"Username\": \"%s\", \"Secret\": \"s\"}' \"$asked\"\n");
  std::filesystem::permissions(home.path() / "bin/docker-credential-shelf", std::filesystem::perms(0700));
  write(".docker/config.json", R"({"credsStore": "shelf"})");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ((home.path() / "bin").string() + ":" + before).c_str(), 1);
  const auto hub = CredentialFiles(environment).find("docker.io");
  const auto other = CredentialFiles(environment).find("host:5000");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(hub && other);
  EXPECT_EQ(hub->user, "https://index.docker.io/v1/");
  EXPECT_EQ(other->user, "host:5000");
}

TEST_F(CredentialsTest, ADamagedFileIsNamed) {
  write(".docker/config.json", R"({"auths": {"host": {"auth": "not base64!"}}})");
  try {
    static_cast<void>(CredentialFiles(environment).find("host"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("config.json"));
    EXPECT_THAT(error.what(), HasSubstr("USER:PASSWORD"));
  }
}

TEST(Base64Test, ThereAndBack) {
  for (const auto& text : std::vector<std::string>{"", "a", "ab", "abc", "abcd", std::string("\0\xff", 2)})
    EXPECT_EQ(from_base64(base64(text)).value_or(""), text);
  EXPECT_FALSE(from_base64("abc"));
  EXPECT_FALSE(from_base64("a*c="));
}

}  // namespace
}  // namespace longship::image
