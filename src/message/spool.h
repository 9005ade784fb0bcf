// SPDX-License-Identifier: Apache-2.0
// A site's spool: the directory on its shared file system through which agent and pilots speak.
//
//   SPOOL/                   0700, of one Unix account
//     lock                   held by the one agent
//     outbox…                record log: facts for the hub; writer: agent
//     outbox.name            the outbox's name
//     journal…               record log: the agent's own decisions; writer: agent
//     code/HEX.tar.zst       bundles, called by their digest
//     checkpoints/JOB/       what attempts of a job leave for the next one
//     pilots/PILOT/          0700
//       pilot.json           what this pilot is: version, site, nodes, walltime, how often to look
//       to_pilot…            record log; writer: agent
//       from_pilot…          record log; writer: pilot
//       batch.out            what the batch script said
//     attempts/JOB.N/        0700, one per attempt: output/, record/, result.json, outputs kept
//
// Nothing in it is locked, renamed over or compared by time, except that one agent holds `lock` on its own
// machine. Names below are checked: whoever can write a name here cannot make a path that leads elsewhere.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "attempt_id.h"

namespace longship::message {

class Spool {
 public:
  explicit Spool(std::filesystem::path root) : root_(std::move(root)) {}
  void make() const;  // its directories; an Error if it is there and belongs to another account

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path lock() const { return root_ / "lock"; }
  [[nodiscard]] std::filesystem::path outbox() const { return root_ / "outbox"; }
  [[nodiscard]] std::filesystem::path outbox_name() const { return root_ / "outbox.name"; }
  [[nodiscard]] std::filesystem::path journal() const { return root_ / "journal"; }
  [[nodiscard]] std::filesystem::path code(std::string_view digest) const;
  [[nodiscard]] std::filesystem::path checkpoints(std::string_view job) const;
  [[nodiscard]] std::filesystem::path pilot(std::string_view pilot) const;
  [[nodiscard]] std::filesystem::path attempt(const AttemptId& attempt) const;
  [[nodiscard]] std::filesystem::path attempts() const { return root_ / "attempts"; }
  [[nodiscard]] std::filesystem::path pilots() const { return root_ / "pilots"; }

 private:
  std::filesystem::path root_;
};

// Files of one pilot's directory.
[[nodiscard]] inline std::filesystem::path to_pilot(const std::filesystem::path& pilot) {
  return pilot / "to_pilot";
}
[[nodiscard]] inline std::filesystem::path from_pilot(const std::filesystem::path& pilot) {
  return pilot / "from_pilot";
}

inline constexpr int spool_version = 1;  // in pilot.json; changes when an older pilot could not read a spool

// pilot.json
struct PilotOrder {
  std::string pilot;
  std::string site;
  int nodes = 1;
  std::chrono::seconds walltime{0};             // of the allocation; 0: no limit
  std::chrono::milliseconds look_every{1000};   // at to_pilot
  std::chrono::seconds idle_limit{60};          // without work it leaves
  std::chrono::seconds checkpoint_before{120};  // the walltime: when ranks are asked for one
  std::filesystem::path image_store;            // where images are at this site
  std::string engine = "own";
  bool operator==(const PilotOrder&) const = default;
};
void write_order(const std::filesystem::path& pilot, const PilotOrder& order);
[[nodiscard]] PilotOrder read_order(const std::filesystem::path& pilot);

}  // namespace longship::message
