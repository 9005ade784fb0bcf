// SPDX-License-Identifier: Apache-2.0
// What the hub remembers, row by row: the same in memory and in the store. Small, because there may be a
// million: what jobs have in common is in their Kind, and texts are in a pool.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "job/job.h"
#include "message/assignment.h"
#include "message/pilot_messages.h"
#include "site/site.h"
#include "texts.h"

namespace longship::hub {

// The wall clock, since it is compared across restarts; the epoch stands for "never".
using Moment = std::chrono::sys_time<std::chrono::milliseconds>;

using JobIndex = std::uint32_t;  // in the order of submission
using KindId = std::uint32_t;
using SiteId = std::uint32_t;
using LinkId = std::uint64_t;
inline constexpr std::uint32_t none = 0xffffffff;

enum class JobState : std::uint8_t { waiting, held, assigned, running, finished, failed, cancelled };
inline constexpr std::array<std::string_view, 7> job_state_names = {
    "waiting", "held", "assigned", "running", "finished", "failed", "cancelled"};
[[nodiscard]] constexpr std::string_view name_of(JobState state) {
  return job_state_names[static_cast<std::size_t>(state)];
}
[[nodiscard]] constexpr bool is_over(JobState state) {
  return state >= JobState::finished;
}

enum class AttemptState : std::uint8_t { sent, preparing, queued, running, ended };
inline constexpr std::array<std::string_view, 5> attempt_state_names = {"sent", "preparing", "queued",
                                                                        "running", "ended"};
[[nodiscard]] constexpr std::string_view name_of(AttemptState state) {
  return attempt_state_names[static_cast<std::size_t>(state)];
}

// How an attempt ended: message::Outcome, and what only the hub knows.
enum class Result : std::uint8_t { open, finished, failed, cancelled, timed_out, lost, refused };
inline constexpr std::array<std::string_view, 7> result_names = {
    "", "finished", "failed", "cancelled", "timed_out", "lost", "refused"};
[[nodiscard]] constexpr std::string_view name_of(Result result) {
  return result_names[static_cast<std::size_t>(result)];
}

enum class Discard : std::uint8_t { no, due, told };  // of an attempt's directory at its site

struct Attempt {
  int number = 0;  // the lease's epoch
  SiteId site = none;
  TextId queue = 0;
  TextId image = 0;  // the record of the variant chosen, as JSON
  AttemptState state = AttemptState::sent;
  Result result = Result::open;
  Discard discard = Discard::no;
  bool resume = false;
  bool checkpoint = false;  // one was left
  bool withdrawn = false;   // a person stopped it: should it finish all the same, that does not count
  bool gone = false;        // the site said that it ended; before, "ended" is only what the hub concluded
  TextId pilot = 0, batch_job = 0, reason = 0;
  TextId nodes = 0;  // names with blanks between them
  int ranks = 0, exit_code = 0;
  std::uint64_t site_version = 0;  // of the site file that it was matched with
  Moment created{}, started{}, ended{};
  std::shared_ptr<const std::vector<message::Output>> outputs;  // null: none
  std::shared_ptr<const message::Metrics> last;                 // null: none
};

struct Job {
  KindId kind = none;
  std::uint32_t number = 0;  // with the kind's name: the id
  JobState state = JobState::waiting;
  std::uint16_t crashes = 0, losses = 0;
  std::uint32_t committed = 0;  // the attempt whose outputs are the job's; 0: none
  SiteId resume_at = none;      // where a checkpoint is
  TextId reason = 0;
  Moment submitted{}, ended{}, not_before{};
  std::vector<Attempt> attempts;

  [[nodiscard]] const Attempt* newest() const { return attempts.empty() ? nullptr : &attempts.back(); }
  // The attempt that holds the lease, if one does: always the newest.
  [[nodiscard]] const Attempt* active() const {
    const bool held = state == JobState::assigned || state == JobState::running;
    return held ? newest() : nullptr;
  }
};

struct Spec {
  std::string digest;  // of the JSON
  std::string json;
  job::Job job;
};

// What jobs of one submission have in common, and all that matching looks at.
struct KindKey {
  std::uint32_t spec = none;
  TextId owner = 0, team = 0;
  TextId site = 0;  // only there; 0: anywhere
  TextId code = 0;  // digest of the bundle; 0: none
  std::uint64_t code_size = 0;
  [[nodiscard]] auto operator<=>(const KindKey&) const = default;
};

struct Submission {
  JobIndex first = 0;
  std::uint32_t number = 0, count = 0;  // numbers number, number + 1, …
  KindId kind = none;
  Moment at{};
  std::string key;  // of user and Idempotency-Key (secrets.h); empty: none was given
};

struct SiteRecord {
  std::string name;
  std::string ssh, longship, site_file;  // as AddSite gave them
  int port = 0;
  std::string text;     // its site file, from the last Hello
  std::string version;  // of the agent
  std::string outbox;   // the agent's
  std::uint64_t seen = 0;
  bool removed = false;
  Moment added{};
  // From `text`; null: none yet, or none that can be read.
  std::shared_ptr<const site::Site> description;
  std::uint64_t text_version = 0;
};

struct TokenRecord {
  std::string hash;  // SHA-256 of the token: the token itself is nowhere
  std::string user, team, site;
  Moment added{};  // never: before the store kept it
  Moment used{};   // to the hour
};

// Something out of the ordinary. The ordinary (submitted, sent, started, ended) is in the rows themselves.
struct Note {
  Moment at{};
  JobIndex job = none;  // none: about a site
  int attempt = 0;
  SiteId site = none;
  std::string what;
};

}  // namespace longship::hub
