// SPDX-License-Identifier: Apache-2.0
// Waiting for jobs at the hub, and fetching what they left.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "formats/document.h"
#include "hub_client.h"
#include "launch/signals.h"

namespace longship::cli {

// Until it is over, with a live line: where it waits and why, then its steps and metrics. A hub that is away
// for a while is waited for. Throws launch::Interrupted.
[[nodiscard]] formats::Value wait_for_job(HubClient& hub, const std::string& id,
                                          launch::Interruptions& interruptions);

// The same for many, with one line for all; the last state of each.
[[nodiscard]] std::vector<formats::Value> wait_for_jobs(HubClient& hub, const std::vector<std::string>& ids,
                                                        launch::Interruptions& interruptions);

struct Fetched {
  std::filesystem::path path;
  std::uint64_t size = 0;
};
// The outputs that the committed attempt kept (else the newest one's), into a directory. `job` is GET
// /v1/jobs/ID.
std::vector<Fetched> fetch_outputs(HubClient& hub, const formats::Value& job,
                                   const std::filesystem::path& into);

// The last lines that a rank wrote to stderr, or to stdout if that is empty; for the person whose job failed.
[[nodiscard]] std::string last_words(HubClient& hub, const std::string& id, std::size_t lines);

// Steps and metrics: "7/9 steps  loss 0.25"; empty if the script told none.
[[nodiscard]] std::string progress_of(const formats::Value& job);

// The exit code of a command that stands for the job.
[[nodiscard]] int exit_code_of(const formats::Value& job);

}  // namespace longship::cli
