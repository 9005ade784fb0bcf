// SPDX-License-Identifier: Apache-2.0
#include "hub/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "expect.h"
#include "formats/document.h"
#include "hub/http_events.h"
#include "hub/http_guard.h"
#include "hub/route_target.h"

namespace longship::hub::http {
namespace {

using testing::HasSubstr;

const std::string digest = "sha256:" + std::string(64, 'a');

Action get(std::string_view target) {
  return route({.method = "GET", .target = target});
}
Refuse refused(std::string_view method, std::string_view target) {
  const auto action = route({.method = method, .target = target});
  const auto* refuse = std::get_if<Refuse>(&action);
  return refuse != nullptr ? *refuse : Refuse{0, "(not refused)", {}};
}
template <class Wanted>
Wanted asked(const Action& action) {
  return std::get<Wanted>(std::get<Ask>(action).request);
}

TEST(RouteTest, FiltersOfTheListArePassedOn) {
  const auto list =
      asked<ListJobs>(get("/v1/jobs?state=running&name=a%20b&owner=x+y&limit=7&before=digits-3"));
  EXPECT_EQ(list.state, "running");
  EXPECT_EQ(list.name, "a b");
  EXPECT_EQ(list.owner, "x y");
  EXPECT_EQ(list.limit, 7);
  EXPECT_EQ(list.before, "digits-3");
  EXPECT_EQ(asked<ListJobs>(get("/v1/jobs")).limit, 100);
}

TEST(RouteTest, AJobIsNamedInThePath) {
  EXPECT_EQ(asked<ShowJob>(get("/v1/jobs/digits-7")).job, "digits-7");
  EXPECT_EQ(asked<Why>(get("/v1/jobs/digits-7/why")).job, "digits-7");
  const auto change = asked<Change>(route({.method = "POST", .target = "/v1/jobs/digits-7/hold"}));
  EXPECT_EQ(change.job, "digits-7");
  EXPECT_EQ(change.verb, Verb::hold);
}

TEST(RouteTest, ALogIsAFileOfTheAttempt) {
  const auto log = std::get<SendLog>(get("/v1/jobs/d-1/log?rank=3&stream=err&attempt=2&from=-100&length=50"));
  EXPECT_EQ(log.ask.name, "output/rank-00003.err");
  EXPECT_EQ(log.ask.attempt, 2);
  EXPECT_EQ(log.ask.length, 50u);
  EXPECT_EQ(log.from, -100);
  EXPECT_EQ(std::get<SendLog>(get("/v1/jobs/d-1/log")).ask.name, "output/rank-00000.out");
}

TEST(RouteTest, MetricsAndReportsAreAskedOfTheSite) {
  const auto metrics = asked<AskSite>(get("/v1/jobs/d-1/metrics?points=20"));
  EXPECT_EQ(metrics.about, message::About::metrics);
  EXPECT_EQ(metrics.length, 20u);
  EXPECT_EQ(asked<AskSite>(get("/v1/jobs/d-1/report")).about, message::About::report);
}

TEST(RouteTest, AFileMayLieInADirectory) {
  const auto file = std::get<SendFile>(
      route({.method = "GET", .target = "/v1/jobs/d-1/files/plots/a%20b.png", .range = "bytes=5-"}));
  EXPECT_EQ(file.ask.name, "plots/a b.png");
  EXPECT_EQ(file.range->first, 5u);
}

TEST(RouteTest, NamesThatLeadAwayAreRefused) {
  for (const auto* name :
       {"../secret", "a/../../b", "%2e%2e/x", "..%2fx", "%2Fetc/passwd", "a//b", "./a", "a/", ""}) {
    const auto refusal = refused("GET", std::string("/v1/jobs/d-1/files/") + name);
    EXPECT_EQ(refusal.status, 400) << name;
    EXPECT_THAT(refusal.sentence, HasSubstr("leads neither up nor away")) << name;
  }
  EXPECT_EQ(refused("GET", "/v1/jobs/d-1/files/a%00b").status, 400);
}

TEST(RouteTest, WrongParametersAreNamed) {
  EXPECT_EQ(refused("GET", "/v1/jobs?stat=running").sentence,
            "unknown parameter \"stat\": did you mean \"state\"?");
  EXPECT_EQ(refused("GET", "/v1/jobs?limit=0").sentence,
            "limit: expected a number from 1 to 1000, found \"0\"");
  EXPECT_EQ(refused("GET", "/v1/jobs?limit=1e3").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/d-1/log?stream=both").sentence,
            "stream: expected \"out\" or \"err\", found \"both\"");
  EXPECT_EQ(refused("GET", "/v1/jobs/d-1?x=1").status, 400);
}

TEST(RouteTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(refused("GET", "/v1/jbs").status, 404);
  EXPECT_EQ(refused("GET", "/v1").status, 404);
  EXPECT_EQ(refused("GET", "/v1/jobs/").status, 404);
  EXPECT_EQ(refused("GET", "/v1/jobs/d-1/why/x").status, 404);
}

TEST(RouteTest, AnotherMethodIsToldWhichThereAre) {
  const auto refusal = refused("PATCH", "/v1/jobs");
  EXPECT_EQ(refusal.status, 405);
  EXPECT_EQ(refusal.allow, "POST, GET");
  EXPECT_EQ(refused("POST", "/").status, 405);
}

TEST(RouteTest, WhatIsNoAddressIsRefused) {
  EXPECT_EQ(refused("GET", "").status, 400);
  EXPECT_EQ(refused("GET", "v1/jobs").status, 400);
  EXPECT_EQ(refused("GET", "http://elsewhere/v1/jobs").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/%zz").status, 400);
  EXPECT_EQ(refused("GET", "/v1/jobs/%4").status, 400);
  EXPECT_EQ(refused("GET", "/" + std::string(9000, 'x')).status, 414);
}

TEST(RouteTest, HeadIsGetWithoutABody) {
  EXPECT_EQ(asked<ShowJob>(route({.method = "HEAD", .target = "/v1/jobs/d-1"})).job, "d-1");
  EXPECT_TRUE(std::holds_alternative<BlobHead>(route({.method = "HEAD", .target = "/v1/blobs/" + digest})));
}

TEST(RouteTest, BlobsAreCalledByTheirDigest) {
  EXPECT_EQ(std::get<BlobGet>(get("/v1/blobs/" + digest)).digest, digest);
  EXPECT_EQ(refused("GET", "/v1/blobs/sha256:12").status, 400);
  EXPECT_EQ(refused("PUT", "/v1/blobs/..%2f..%2fhub.db").status, 400);
  const auto put = std::get<BlobPut>(
      route({.method = "PUT", .target = "/v1/blobs/" + digest, .content_range = "bytes 100-199/1000"}));
  EXPECT_EQ(put.range->part.offset, 100u);
  EXPECT_EQ(put.range->part.length, 100u);
  EXPECT_EQ(put.range->size, 1000u);
}

TEST(RouteTest, AContentRangeThatMakesNoSenseIsNamed) {
  for (const auto* wrong : {"bytes 5-4/10", "bytes 0-10/10", "bytes */10", "bytes 0-1", "0-1/2",
                            "bytes -1-1/2", "bytes 0-1/18446744073709551615"})
    EXPECT_EQ(
        std::get<Refuse>(route({.method = "PUT", .target = "/v1/blobs/" + digest, .content_range = wrong}))
            .status,
        400)
        << wrong;
}

TEST(RouteTest, OnlyPagesAndHealthAreForEverybody) {
  EXPECT_TRUE(is_open(get("/")));
  EXPECT_TRUE(is_open(get("/jobs/digits-7")));
  EXPECT_TRUE(is_open(get("/v1/health")));
  for (const auto* target : {"/v1/jobs", "/v1/events", "/v1/agent", "/v1/nothing", "/v1/jobs/d-1/files/../x"})
    EXPECT_FALSE(is_open(get(target))) << target;
}

Submit submitted(std::string_view body) {
  return std::get<Submit>(request_from({BodyKind::job, 1 << 20, "key"}, body));
}

TEST(RouteTest, ASubmissionIsReadFromItsBody) {
  const auto submit = submitted(R"({"job":{"name":"x"},"code":{"digest":")" + digest +
                                R"(","size":12},"count":3,"site":"here"})");
  EXPECT_EQ(submit.job, R"({"name":"x"})");
  EXPECT_EQ(submit.code.digest, digest);
  EXPECT_EQ(submit.code.size, 12u);
  EXPECT_EQ(submit.count, 3);
  EXPECT_EQ(submit.key, "key");
  EXPECT_EQ(submit.site, "here");
  EXPECT_EQ(submitted(R"({"job":{},"code":null})").code.digest, "");
}

TEST(RouteTest, WrongBodiesAreNamed) {
  EXPECT_EQ(message_of([] { submitted("[]"); }), "body: expected an object");
  EXPECT_THAT(message_of([] { submitted("{"); }), HasSubstr("body:1"));
  EXPECT_THAT(message_of([] { submitted(R"({"jobs":{}})"); }),
              HasSubstr("unknown key: did you mean \"job\"?"));
  EXPECT_THAT(message_of([] { submitted(R"({"job":{},"count":0})"); }), HasSubstr("count"));
  EXPECT_THAT(message_of([] { submitted(R"({"job":"x"})"); }), HasSubstr("table"));
}

TEST(RouteTest, RangesArePartsOfASize) {
  const auto part = [](std::string_view header, std::uint64_t size) {
    return part_of(*parse_range(header), size);
  };
  EXPECT_EQ(part("bytes=0-9", 100)->length, 10u);
  EXPECT_EQ(part("bytes=90-", 100)->offset, 90u);
  EXPECT_EQ(part("bytes=90-500", 100)->length, 10u);
  EXPECT_EQ(part("bytes=-30", 100)->offset, 70u);
  EXPECT_EQ(part("bytes=-300", 100)->length, 100u);
  EXPECT_FALSE(part("bytes=100-", 100).has_value());
  EXPECT_FALSE(part("bytes=-0", 100).has_value());
  EXPECT_FALSE(part("bytes=0-", 0).has_value());
  for (const auto* whole : {"", "bytes=", "bytes=-", "bytes=a-", "bytes=9-1", "bytes=0-1,3-4", "lines=0-1",
                            "bytes=99999999999999999999-"})
    EXPECT_FALSE(parse_range(whole).has_value()) << whole;
}

TEST(GuardTest, TheTokenStandsBehindBearer) {
  EXPECT_EQ(bearer("Bearer abc"), "abc");
  EXPECT_EQ(bearer("bearer  abc "), "abc");
  EXPECT_EQ(bearer("Basic abc"), "");
  EXPECT_EQ(bearer(""), "");
}

TEST(GuardTest, AStrangersNameForUsIsNotOurs) {
  const std::vector<std::string> names = {"hub.example"};
  for (const auto* host :
       {"127.0.0.1:8470", "localhost:8470", "LOCALHOST", "[::1]:8470", "10.1.2.3", "Hub.Example:1"})
    EXPECT_TRUE(host_is_ours(host, names)) << host;
  for (const auto* host : {"", "evil.example:8470", "127.0.0.1.evil.example", "localhost.evil", "[", "[]"})
    EXPECT_FALSE(host_is_ours(host, names)) << host;
}

TEST(GuardTest, OnlyOurOwnPagesMayAsk) {
  EXPECT_TRUE(origin_is_ours("", "127.0.0.1:8470"));
  EXPECT_TRUE(origin_is_ours("http://127.0.0.1:8470", "127.0.0.1:8470"));
  EXPECT_FALSE(origin_is_ours("http://evil.example", "127.0.0.1:8470"));
  EXPECT_FALSE(origin_is_ours("null", "127.0.0.1:8470"));
}

TEST(EventRingTest, WhoWasAwayGoesOnWhereItStopped) {
  EventRing ring(5);
  ring.add("job", "{\"id\":1}");
  auto cursor = ring.find("");
  EXPECT_EQ(ring.take(cursor), "");
  ring.add("job", "{\"id\":2}");
  ring.add("site", "{}");
  EXPECT_EQ(ring.take(cursor), "id: 5-2\nevent: job\ndata: {\"id\":2}\n\nid: 5-3\nevent: site\ndata: {}\n\n");
  EXPECT_EQ(ring.take(cursor), "");
  cursor = ring.find("5-2");
  EXPECT_THAT(ring.take(cursor), HasSubstr("id: 5-3"));
}

TEST(EventRingTest, WhoWasAwayTooLongLooksAnew) {
  EventRing ring(5, 2);
  for (int i = 0; i < 4; ++i) ring.add("job", "{}");
  for (const auto* id : {"5-1", "4-3", "5-99", "x", "5-"}) {
    auto cursor = ring.find(id);
    EXPECT_EQ(ring.take(cursor), "id: 5-4\nevent: reset\ndata: {}\n\n") << id;
    EXPECT_EQ(ring.take(cursor), "") << id;
  }
  auto slow = ring.find("5-2");
  EXPECT_TRUE(slow.known);
  ring.add("job", "{}");
  EXPECT_THAT(ring.take(slow), HasSubstr("reset"));
}

TEST(EventRingTest, AnswersAreLimited) {
  EventRing ring(1);
  auto cursor = ring.find("");
  for (int i = 0; i < 10; ++i) ring.add("job", std::string(100, 'x'));
  EXPECT_LT(ring.take(cursor, 300).size(), 600u);
  EXPECT_FALSE(ring.take(cursor, 300).empty());
}

// --- the specification ---

TEST(OpenApiTest, ItHasTheAddressesThatThereAre) {
  const auto file = std::filesystem::path(LONGSHIP_DOCS) / "openapi.json";
  const auto document = formats::parse_json(read_file(file), "openapi.json");
  std::set<std::string> told, there;
  for (const auto& path : document.find("paths")->table())
    for (const auto& operation : path.value.table()) {
      if (operation.key == "parameters") continue;
      std::string method = operation.key;
      std::transform(method.begin(), method.end(), method.begin(), ::toupper);
      told.insert(method + " " + path.key);
    }
  for (const auto& address : addresses()) {
    std::string pattern(address.pattern);
    if (const auto dots = pattern.find("..."); dots != std::string::npos) pattern.erase(dots, 3);
    there.insert(std::string(address.method) + " " + pattern);
  }
  EXPECT_EQ(told, there);
}

}  // namespace
}  // namespace longship::hub::http
