// SPDX-License-Identifier: Apache-2.0
#include "image/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace longship::image {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');

TEST(ReferenceTest, HasItsParts) {
  const auto plain = parse_reference("registry.example.org/team/gan3d:v2");
  EXPECT_EQ(plain.registry, "registry.example.org");
  EXPECT_EQ(plain.repository, "team/gan3d");
  EXPECT_EQ(plain.object(), "v2");
  EXPECT_EQ(parse_reference("localhost/a").tag, "latest");
  EXPECT_EQ(parse_reference("host:5000/a").registry, "host:5000");
}

TEST(ReferenceTest, DigestDecides) {
  const auto reference = parse_reference("host:5000/a/b:v1@" + digest);
  EXPECT_EQ(reference.tag, "v1");
  EXPECT_EQ(reference.object(), digest);
  EXPECT_EQ(reference.text(), "host:5000/a/b:v1@" + digest);
  EXPECT_EQ(parse_reference("host:5000/a@" + digest).tag, "");
}

TEST(ReferenceTest, WhatIsNoneIsRefusedWithTheForm) {
  for (const auto* text : {"", "name", "team/name", "host:5000/", "host:5000/A", "host:5000/a//b",
                           "host:5000/a:", "host:5000/a:.x", "host:5000/a@sha256:12", "host:5000/../x",
                           "ho st:1/a", "https://host/a",
                           "host:5000/a:"
                           "b c"}) {
    try {
      static_cast<void>(parse_reference(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.failure(), Failure::usage);
      EXPECT_THAT(error.what(), testing::HasSubstr("HOST[:PORT]/NAME[:TAG]")) << text;
    }
  }
}

}  // namespace
}  // namespace longship::image
