// SPDX-License-Identifier: Apache-2.0
// One of every message, with all of its members set.
#pragma once
#include <vector>

#include "message/hub_messages.h"

namespace longship::message {

inline const std::string digest = "sha256:" + std::string(64, 'a');

inline Assignment assignment() {
  return {.attempt = {"digits-7", 2},
          .job = R"({"name":"digits","command":["python3","train.py"]})",
          .owner = "ada",
          .team = "vision",
          .queue = "batch",
          .code = {digest, 1234},
          .image = R"({"name":"torch"})",
          .resume = true};
}

inline Assignment smallest_assignment() {
  Assignment assignment;
  assignment.attempt = {"x-1", 1};
  assignment.job = "{}";
  return assignment;
}

inline Metrics metrics() {
  return {.step = 40, .steps = 100, .values = {{"loss", 0.1}, {"a \"b\"\n\xc3\xa4", -1e300}, {"n", 3}}};
}

inline Ended ended() {
  return {.attempt = {"digits-7", 2},
          .outcome = Outcome::timed_out,
          .exit_code = -9,
          .reason = "the walltime was over",
          .outputs = {{"model.pt", 10}, {"logs/a b", std::uint64_t{1} << 62}},
          .duration = std::chrono::milliseconds(123456),
          .metrics = metrics(),
          .checkpoint = true};
}

inline std::vector<ToPilot> to_pilot_samples() {
  return {Take{assignment()}, Take{smallest_assignment()}, Stop{{"digits-7", 2}, StopReason::superseded},
          Stop{{"a-b-1", 1}, StopReason::cancelled}, Leave{}};
}

inline std::vector<FromPilot> from_pilot_samples() {
  std::vector<FromPilot> samples = {Began{{"n1", "n2"}, std::chrono::seconds(3600)},
                                    Running{{"digits-7", 2}, 4, {"n1", "n2"}},
                                    Beat{{{"digits-7", 2}}, metrics()},
                                    Beat{},
                                    ended(),
                                    Left{"no work for 60 seconds"}};
  for (const auto outcome : {Outcome::finished, Outcome::failed, Outcome::cancelled, Outcome::lost}) {
    Ended smallest;
    smallest.attempt = {"x-1", 1};
    smallest.outcome = outcome;
    samples.emplace_back(smallest);
  }
  return samples;
}

inline std::vector<Fact> fact_samples() {
  return {Refused{{"digits-7", 2}, "owner ada is not accepted"}, Preparing{{"digits-7", 2}},
          Queued{{"digits-7", 2}, "p0123456789ab", "1234"},
          Started{{"digits-7", 2}, "p0123456789ab", 4, {"n1"}}, ended()};
}

inline std::vector<FromAgent> from_agent_samples() {
  return {Hello{.version = "0.2",
                .site = "lab",
                .site_file = "[site]\n",
                .outbox = "o1",
                .attempts = {{"digits-7", 2}}},
          Facts{17, fact_samples()},
          Facts{},
          Alive{{{{"digits-7", 2}, metrics()}},
                "slurmctld does not answer",
                {{{"x-1", 1}, "Priority", 1700000000}}},
          Alive{},
          Fetch{1, digest, 2, 3},
          Answer{4, "no such file", 5, ""},
          Answer{6, "", 7, std::string("bytes \0 of any kind \xff", 21)}};
}

inline std::vector<FromHub> from_hub_samples() {
  return {Welcome{12},
          Want{{assignment(), smallest_assignment()}, true},
          Want{},
          Carry{{assignment()}},
          StopAttempts{{{"digits-7", 2}, {"x-1", 1}}, StopReason::superseded},
          Seen{13},
          Chunk{1, "no such blob", ""},
          Chunk{2, "", std::string("\0\1\2", 3)},
          Question{3, {"digits-7", 2}, About::file, "output/rank-00000.out", 10, 20},
          Question{4, {"digits-7", 2}, About::metrics, "", 0, 500},
          Question{5, {"digits-7", 2}, About::report, "", 0, 0},
          Discard{{{"digits-7", 1}}},
          Goodbye{"the token is not known"}};
}

}  // namespace longship::message
