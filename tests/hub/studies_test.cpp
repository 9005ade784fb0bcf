// SPDX-License-Identifier: Apache-2.0
#include "hub/studies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "expect.h"
#include "formats/document.h"

namespace longship::hub {
namespace {

using testing::HasSubstr;

std::string study(const std::string& name, int trials = 1) {
  return "{\"name\":\"" + name + "\",\"objectives\":[],\"counts\":{\"complete\":" + std::to_string(trials) +
         "},\"best\":[],\"parameters\":[],\"importance\":[],\"trials\":[]}";
}

std::vector<std::string> names_in(const std::string& json) {
  std::vector<std::string> names;
  const auto value = formats::parse_json(json, "list");
  for (const auto& one : value.find("studies")->array()) names.push_back(one.find("name")->text());
  std::sort(names.begin(), names.end());
  return names;
}

class StudiesTest : public testing::Test {
 protected:
  TemporaryDirectory place_;
  Studies studies_{place_.path() / "studies", "boss"};
  Caller ada_{"ada", "clic", ""}, bob_{"bob", "clic", ""}, eve_{"eve", "", ""}, boss_{"boss", "", ""};
};

TEST_F(StudiesTest, TheLastOneOfANameIsShown) {
  studies_.put(ada_, "lr", study("lr", 1));
  studies_.put(ada_, "lr", study("lr", 2));
  EXPECT_EQ(names_in(studies_.list(ada_)), std::vector<std::string>{"lr"});
  EXPECT_EQ(studies_.find(ada_, "ada", "lr"), study("lr", 2));
  const Studies again(place_.path() / "studies", "boss");
  EXPECT_EQ(again.find(ada_, "ada", "lr"), study("lr", 2));
}

TEST_F(StudiesTest, OwnerTeamAndWhoseHubItIsMaySeeThem) {
  studies_.put(ada_, "lr", study("lr"));
  studies_.put(eve_, "lr", study("lr", 5));  // another's of the same name
  studies_.put(eve_, "own", study("own"));
  EXPECT_EQ(names_in(studies_.list(bob_)), std::vector<std::string>{"lr"});
  EXPECT_EQ(names_in(studies_.list(eve_)), (std::vector<std::string>{"lr", "own"}));
  EXPECT_EQ(names_in(studies_.list(boss_)).size(), 3u);
  EXPECT_EQ(studies_.find(eve_, "ada", "lr"), std::nullopt);
  EXPECT_EQ(studies_.find(bob_, "ada", "lr"), study("lr"));
  EXPECT_EQ(studies_.find(boss_, "eve", "lr"), study("lr", 5));
  EXPECT_EQ(studies_.find(eve_, "eve", "none"), std::nullopt);
}

TEST_F(StudiesTest, WhatCannotBeDrawnIsRefused) {
  const auto complaint = [&](const std::string& name, const std::string& json) {
    return message_of([&] { studies_.put(ada_, name, json); });
  };
  EXPECT_THAT(complaint("lr", "{"), HasSubstr("the study"));
  EXPECT_THAT(complaint("lr", "[]"), HasSubstr("expected"));
  EXPECT_THAT(complaint("lr", study("other")), HasSubstr("the address says lr, the study other"));
  EXPECT_THAT(complaint("../lr", study("../lr")), HasSubstr("name"));
  EXPECT_THAT(complaint("lr", R"({"name":"lr","objectives":[]})"), HasSubstr("best"));
  EXPECT_THAT(complaint("lr", R"({"name":"lr","objectives":3})"), HasSubstr("expected a list"));
  EXPECT_TRUE(names_in(studies_.list(ada_)).empty());
}

}  // namespace
}  // namespace longship::hub
