// SPDX-License-Identifier: Apache-2.0
// The allocation's side of a job: what is in the spool becomes ranks, and what the ranks leave is kept.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attempt.h"
#include "job/job.h"
#include "launch/engine.h"
#include "launch/node.h"
#include "launch/output.h"
#include "outputs.h"
#include "record/reader.h"
#include "store/image.h"

namespace longship::pilot {

// Found out before anything is made: what is certain to fail, fails at once and leaves nothing.
struct Ground {
  std::optional<store::Image> image;            // none: this machine's own software
  std::filesystem::path root;                   // the image's SquashFS file
  std::filesystem::path unpacked;               // where images are unpacked if nothing may mount them
  launch::Engine engine = launch::Engine::own;  // what starts boxes
  int nodes = 1;
  bool across = false;  // other nodes than this one: through the batch system
};
// Error (Failure::impossible) if the image does not fit this machine, or the job needs nodes that are not
// there.
[[nodiscard]] Ground look_at_the_ground(const job::Job& job);
// The same at a site, where the hub chose the image: its record, none for a job without one, and the site's
// store.
[[nodiscard]] Ground look_at_the_ground(const job::Job& job, const std::optional<store::Image>& image,
                                        const std::filesystem::path& image_store,
                                        launch::Engine engine = launch::Engine::own);

// Where the parts of this installation are.
// Where a job works, as it sees it in a box.
inline constexpr const char* work_in_the_box = "/job";

struct Installation {
  std::filesystem::path in_the_box;  // what boxes see as /opt/longship
  std::vector<std::string> helper;   // the command that a node helper is
};

enum class State { finished, failed, cancelled };
[[nodiscard]] std::string_view name_of(State state);

struct Outcome {
  State state = State::finished;
  int exit_code = 0;
  std::string reason;  // a sentence, if it did not finish
  launch::Result ranks;
  Kept kept;
  std::chrono::milliseconds duration{0};
};

// What is told while it runs, and what is asked.
struct Watcher {
  launch::Interruptions& interruptions;
  launch::Screen& screen;
  std::function<void(const record::LiveMetrics&)> metrics;
  std::function<bool()> stop = nullptr;        // a few times a second: true if it is to be stopped
  std::function<bool()> checkpoint = nullptr;  // likewise: true if the ranks are to be asked for a checkpoint
  // Between two steps that last: "ran", "kept".
  std::function<void(std::string_view)> passed = nullptr;
  launch::Sink* here = nullptr;  // instead of the screen, if the ranks run on this node
};

// What is to be carried out, wherever it came from.
struct Task {
  job::Job job;
  std::filesystem::path bundle;       // of code; empty: none
  std::string bundle_digest;          // what it must be; empty: whatever it is
  std::filesystem::path checkpoints;  // where the ranks leave them for the next attempt; empty: nowhere
  bool resume = false;                // there are some already
  Environment identity;               // LONGSHIP_JOB, …
  bool told_elsewhere = false;        // how it went: on a full disk it does without result.json
};

// The code into the spool, as a bundle, and the job as what was asked for.
void fill_spool(const Attempt& attempt, const job::Job& job);

// Runs what is in the spool. Everything that goes wrong with the job is in the outcome; an Error is our own
// failure. result.json is written in either case, as long as there is room.
[[nodiscard]] Outcome carry_out(Attempt& attempt, const Ground& ground, const Installation& installation,
                                Watcher& watcher);
[[nodiscard]] Outcome carry_out(Attempt& attempt, const Task& task, const Ground& ground,
                                const Installation& installation, Watcher& watcher);

}  // namespace longship::pilot
