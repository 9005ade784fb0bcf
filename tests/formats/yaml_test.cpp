// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace longship::formats {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& text, const Limits& limits = {}) {
  try {
    (void)parse_yaml(text, "gpu.yaml", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(YamlTest, MapsListsAndPlainValues) {
  const auto value = parse_yaml(
      "---\n"
      "kind: nvidia.com/gpu   # a comment\n"
      "devices:\n"
      "- name: \"0\"\n"
      "  index: 0\n"
      "- {name: all, share: 0.5, old: true, nothing: null, empty: }\n",
      "gpu.yaml");
  EXPECT_EQ(value.find("kind")->text(), "nvidia.com/gpu");
  const auto& devices = value.find("devices")->array();
  EXPECT_EQ(devices.at(0).find("name")->text(), "0");
  EXPECT_EQ(devices.at(0).find("index")->integer(), 0);
  EXPECT_EQ(devices.at(1).find("share")->number(), 0.5);
  EXPECT_TRUE(devices.at(1).find("old")->flag());
  EXPECT_TRUE(devices.at(1).find("nothing")->is(Kind::null));
  EXPECT_TRUE(devices.at(1).find("empty")->is(Kind::null));
  EXPECT_EQ(devices.at(0).place().text(), "gpu.yaml:4");
}

TEST(YamlTest, WordsThatOnlyLookLikeNumbersAreTexts) {
  const auto value = parse_yaml("a: 1.2.3\nb: 0-1\nc: e\n", "x");
  EXPECT_EQ(value.find("a")->text(), "1.2.3");
  EXPECT_EQ(value.find("b")->text(), "0-1");
  EXPECT_EQ(value.find("c")->text(), "e");
}

TEST(YamlTest, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_THAT(error_of("a: [1, 2\nb: 3\n"), HasSubstr("gpu.yaml:"));
  EXPECT_THAT(error_of("a: 1\na: 2\n"), HasSubstr("gpu.yaml:2: a: the key is there twice"));
  EXPECT_THAT(error_of("[a]: 1\n"), HasSubstr("a key that is no word"));
  EXPECT_THAT(error_of(""), HasSubstr("nothing in it"));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), HasSubstr("more than one document"));
}

TEST(YamlTest, FewLinesCannotStandForGigabytes) {
  EXPECT_THAT(error_of("a: &a [x]\nb: *a\n"), HasSubstr("anchors and aliases are not read"));
  EXPECT_THAT(error_of(std::string(100, '['), {1000, 16}), HasSubstr("too deep"));
  EXPECT_THAT(error_of("a: 12345\n", {4, 16}), HasSubstr("more than 4 bytes"));
}

}  // namespace
}  // namespace longship::formats
