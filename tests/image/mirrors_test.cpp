// SPDX-License-Identifier: Apache-2.0
#include "image/mirrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace longship::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mirrors mirrors(const std::string& text) {
  return Mirrors(formats::parse_toml(text, "registries.toml"));
}

std::vector<std::string> places(const Mirrors& mirrors, const std::string& reference) {
  std::vector<std::string> texts;
  for (const auto& place : mirrors.places(parse_reference(reference))) texts.push_back(place.text());
  return texts;
}

std::string error_of(const std::string& text) {
  try {
    mirrors(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MirrorsTest, ComeBeforeTheRegistryInTheirOrder) {
  const auto known = mirrors(
      "version = 1\n[[registry]]\nhost = \"docker.io\"\nmirrors = [\"near.example:5000\", "
      "\"far.example/hub\"]\n");
  EXPECT_THAT(places(known, "docker.io/debian:12"),
              ElementsAre("near.example:5000/library/debian:12", "far.example/hub/library/debian:12",
                          "docker.io/debian:12"));
  EXPECT_THAT(places(known, "quay.io/a/b"), ElementsAre("quay.io/a/b:latest"));
}

TEST(MirrorsTest, ADigestStaysWhatItIs) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto known = mirrors("version = 1\n[[registry]]\nhost = \"a.example\"\nmirrors = [\"b.example\"]\n");
  EXPECT_THAT(places(known, "a.example/x@" + digest),
              ElementsAre("b.example/x@" + digest, "a.example/x@" + digest));
}

TEST(MirrorsTest, OnlyANamedHostIsAskedWithoutTls) {
  const auto known = mirrors("version = 1\n[[registry]]\nhost = \"b.example:5000\"\nplain_http = true\n");
  EXPECT_TRUE(known.plain_http("b.example:5000"));
  EXPECT_FALSE(known.plain_http("b.example"));
}

TEST(MirrorsTest, WhatIsWrongIsNamedByItsLine) {
  EXPECT_THAT(error_of("version = 1\n[[registry]]\nhost = \"a.example\"\nmirrors = [\"b\"]\n"),
              HasSubstr("registries.toml:4: registry[1].mirrors: \"b\" is not HOST[:PORT]"));
  EXPECT_THAT(error_of("version = 1\n[[registry]]\nhots = \"a.example\"\n"),
              HasSubstr("did you mean \"host\"?"));
  EXPECT_THAT(error_of("version = 2\n"), HasSubstr("version"));
  EXPECT_THAT(
      error_of("version = 1\n[[registry]]\nhost = \"a.example\"\n[[registry]]\nhost = \"a.example\"\n"),
      HasSubstr("is there twice"));
}

TEST(MirrorsTest, TheFileIsFoundWhereItIsNamedOrInTheConfiguration) {
  const TemporaryDirectory home;
  const std::string text = "version = 1\n[[registry]]\nhost = \"a.example\"\nmirrors = [\"b.example\"]\n";
  std::filesystem::create_directories(home.path() / ".config/longship");
  write_file(home.path() / ".config/longship/registries.toml", text);
  EXPECT_EQ(places(Mirrors::of({{"HOME", home.path()}}), "a.example/x").size(), 2u);
  EXPECT_EQ(places(Mirrors::of({{"HOME", "/nowhere"}}), "a.example/x").size(), 1u);
  EXPECT_THROW(Mirrors::of({{"LONGSHIP_REGISTRIES", "/nowhere/registries.toml"}}), Error);
}

}  // namespace
}  // namespace longship::image
