// SPDX-License-Identifier: Apache-2.0
#include "sweep/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sweep/page.h"
#include "sweep/prepare.h"

namespace longship::sweep {
namespace {

using study::TrialState;
using testing::HasSubstr;
using testing::Not;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::unique_ptr<study::Study> small_study(const std::string& choice = "\"a,\\\"b\"") {
  auto study = std::make_unique<study::Study>(std::vector<std::uint8_t>{0});
  study->use(study::make_sampler("random", 1));
  const auto x = study->parameter("x", study::integer(1, 3));
  const auto net = study->parameter("net", study::category({choice, "true"}));
  for (int i = 0; i < 3; ++i) {
    study::Trial trial;
    trial.point = {{x, 1.0 + i}};
    if (i < 2) trial.point.push_back({net, 0});
    trial.state = i == 2 ? TrialState::failed : TrialState::complete;
    if (i < 2) trial.values = {i == 0 ? 0.5 : infinite};
    trial.attributes = {{true, remark::reason, formats::json_text("it, fell")}};
    study->add(trial);
  }
  return study;
}

TEST(DescribeTest, AStudyAsCsvHasALineForEachTrial) {
  EXPECT_EQ(study_csv(*small_study(), nullptr),
            "trial,state,value,x,net,begun,ended,job,reason\n"
            "0,complete,0.5,1,\"a,\"\"b\",0.000,0.000,,\"it, fell\"\n"
            "1,complete,inf,2,\"a,\"\"b\",0.000,0.000,,\"it, fell\"\n"
            "2,failed,,3,,0.000,0.000,,\"it, fell\"\n");
}

TEST(DescribeTest, AStudyAsJsonHasNumbersThatJsonLacksAsTexts) {
  const auto json = formats::dump_json(study_json(*small_study(), nullptr));
  EXPECT_THAT(json, HasSubstr(R"("values":["inf"])"));
  EXPECT_THAT(json, HasSubstr(R"("counts":{"complete":2,"pruned":0,"failed":1,"running":0,"waiting":0})"));
  EXPECT_THAT(json, HasSubstr(R"("params":{"x":1,"net":"a,\"b"})"));
  EXPECT_THAT(json, HasSubstr(R"("objectives":[{"metric":"value","direction":"minimize"}])"));
}

TEST(DescribeTest, ObjectivesHaveTheNamesThatPythonGaveThem) {
  study::Study study(std::vector<std::uint8_t>{0, 1});
  EXPECT_EQ(objectives_of(study.history(), nullptr)[1].metric, "value 2");
  study.note({true, remark::metric_names, R"(["loss","speed"])"});
  EXPECT_EQ(objectives_of(study.history(), nullptr)[0].metric, "loss");
  EXPECT_EQ(objectives_of(study.history(), nullptr)[1].metric, "speed");
}

TEST(PageTest, NoTextOfTheStudyEndsTheScript) {
  const auto text = page(study_json(*small_study("\"</script><script>alert(1)</script>@STYLE@\""), nullptr));
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(text, HasSubstr("\\u003c/script>\\u003cscript>alert(1)\\u003c/script>@STYLE@"));
  EXPECT_THAT(text, HasSubstr("export function draw"));
}

}  // namespace
}  // namespace longship::sweep
