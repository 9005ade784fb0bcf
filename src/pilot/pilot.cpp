// SPDX-License-Identifier: Apache-2.0
#include "pilot.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "box/host_mpi.h"
#include "formats/archive.h"
#include "formats/digest.h"
#include "formats/units.h"
#include "launch/across.h"
#include "launch/engine_start.h"
#include "launch/environment.h"
#include "launch/launch.h"
#include "launch/mpi.h"
#include "result.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// What the ranks see of the attempt, in a box and without one.
constexpr const char* record_in_the_box = "/run/longship/record";
constexpr const char* checkpoints_in_the_box = "/run/longship/checkpoints";

box::Spec box_spec(const Task& task, const Attempt& attempt, const Ground& ground,
                   const Installation& installation) {
  box::Spec spec;
  spec.root = ground.root;
  spec.unpacked = ground.unpacked;
  spec.binds = {{attempt.work(), work_in_the_box},
                {attempt.record(), record_in_the_box},
                {installation.in_the_box, "/opt/longship", true}};
  if (!task.checkpoints.empty()) spec.binds.push_back({task.checkpoints, checkpoints_in_the_box});
  for (const auto& data : task.job.data) spec.binds.push_back({data.dataset, data.at, true});
  spec.working_directory = work_in_the_box;
  return spec;
}

void set_checkpoints(launch::Plan& plan, const Task& task, bool boxed) {
  if (task.checkpoints.empty()) return;
  plan.environment["LONGSHIP_CHECKPOINTS"] = boxed ? checkpoints_in_the_box : task.checkpoints.string();
  if (task.resume) plan.environment["LONGSHIP_RESUME"] = "1";
  if (!task.job.checkpoint) return;
  plan.environment["LONGSHIP_CHECKPOINT_EVERY"] = std::to_string(task.job.checkpoint->every.count());
  plan.environment["LONGSHIP_CHECKPOINT_KEEP"] = std::to_string(task.job.checkpoint->keep);
}

// A site may want that the ranks use its own MPI.
void choose_mpi(launch::Plan& plan, const Ground& ground) {
  const auto which = box::mpi_of_site(current_environment());
  if (which == "image" || !ground.image) return;
  box::let_in_host_mpi(which, fit::image_facts(ground.image->facts), plan.box->environment, plan.box->spec,
                       plan.environment);
}

launch::Plan make_plan(const Task& task, const Attempt& attempt, const Ground& ground,
                       const Installation& installation) {
  const job::Job& job = task.job;
  launch::Plan plan;
  plan.command = job.command;
  plan.environment = job.environment;
  for (const auto& [name, value] : task.identity) plan.environment.emplace(name, value);
  set_checkpoints(plan, task, !ground.root.empty());
  plan.ranks.assign(static_cast<std::size_t>(ground.nodes), job.needs.ranks_per_node);
  plan.threads_per_rank = job.needs.threads_per_rank;
  plan.gpus_per_rank = job.needs.gpus_per_rank;
  plan.output = attempt.output();
  plan.secret = launch::make_secret();
  if (ground.root.empty()) {
    plan.environment.emplace(
        "PYTHONPATH", launch::with_python_path(installation.in_the_box / "python", current_environment()));
    plan.directory = attempt.work();
    plan.record = attempt.record();
  } else {
    plan.box = launch::Boxed{box_spec(task, attempt, ground, installation),
                             ground.image ? ground.image->config.environment : Environment{},
                             ground.image ? ground.image->facts.libc : "", ground.engine};
    plan.directory = work_in_the_box;
    plan.record = record_in_the_box;
    if (job.launch == job::Launch::mpi) choose_mpi(plan, ground);
  }
  return plan;
}

// The job's time, and the metrics of rank 0, looked at while the ranks run.
class Watch {
 public:
  Watch(const job::Job& job, const Attempt& attempt, const Watcher& watcher)
      // Who can stop it keeps its time, too.
      : walltime_(watcher.stop ? std::chrono::seconds(0) : job.needs.walltime),
        follower_(record::log_path(attempt.record(), 0)),
        watcher_(watcher) {}

  void tick() {
    if (const auto metrics = follower_.poll(); metrics && watcher_.metrics) watcher_.metrics(*metrics);
  }
  [[nodiscard]] bool over() {
    if (walltime_.count() > 0 && Steady::now() - begun_ > walltime_) over_ = true;
    return over_ || (watcher_.stop && watcher_.stop());
  }
  [[nodiscard]] bool was_over() const { return over_; }
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(Steady::now() - begun_);
  }

 private:
  std::chrono::seconds walltime_;
  Steady::time_point begun_ = Steady::now();
  record::Follower follower_;
  const Watcher& watcher_;
  bool over_ = false;
};

launch::Result launch_ranks(const launch::Plan& plan, const job::Job& job, const Ground& ground,
                            const Installation& installation, Watcher& watcher, Watch& watch) {
  const bool mpi = job.launch == job::Launch::mpi;
  const bool by_helpers = ground.across || mpi || launch::uses_engine(plan);
  launch::Sink& sink = watcher.here != nullptr && !by_helpers ? *watcher.here : watcher.screen;
  launch::Surroundings surroundings{watcher.interruptions, sink, [&] { watch.tick(); },
                                    [&] { return watch.over(); }, watcher.checkpoint};
  const auto run = [&] {
    if (mpi)
      return launch::run_mpi(plan, ground.image ? ground.image->facts.mpi : "", installation.helper,
                             watcher.screen, surroundings);
    if (ground.across) return launch::run_across(plan, installation.helper, watcher.screen, surroundings);
    if (launch::uses_engine(plan))
      return launch::run_in_engine(plan, installation.helper, watcher.screen, surroundings);
    return launch::run_here(plan, surroundings);
  };
  launch::Result result = run();
  watch.tick();  // what was reported last
  return result;
}

// A bundle that arrived as it was sent and cannot be unpacked is the sender's fault; one that was damaged is
// nobody's.
void unpack_code(const Task& task, const fs::path& work) {
  try {
    formats::unpack_bundle(task.bundle, work, {.digest = task.bundle_digest});
  } catch (const Error& error) {
    const bool damaged = error.number() != 0 || task.bundle_digest.empty() ||
                         formats::digest_of_file(task.bundle) != task.bundle_digest;
    if (damaged) throw;
    throw Error(Failure::usage, "{}", error.what());
  }
}

void judge_ranks(const job::Job& job, const Watch& watch, Outcome& outcome) {
  outcome.exit_code = outcome.ranks.exit_code;
  switch (outcome.ranks.cause) {
    case launch::Cause::finished:
      break;
    case launch::Cause::signal:
      outcome.state = State::cancelled;
      outcome.reason = "interrupted";
      break;
    case launch::Cause::stopped:
      outcome.state = State::failed;
      outcome.reason = watch.was_over() ? fmt::format("stopped: its walltime of {} was over",
                                                      formats::human_duration(job.needs.walltime))
                                        : "stopped";
      outcome.exit_code = static_cast<int>(Failure::failed);
      break;
    case launch::Cause::rank_failed:
      outcome.state = State::failed;
      outcome.reason = outcome.ranks.failure ? outcome.ranks.failure->sentence() : "a rank failed";
      break;
  }
}

void judge_outputs(Outcome& outcome) {
  if (outcome.state != State::finished || outcome.kept.missing.empty()) return;
  outcome.state = State::failed;
  outcome.exit_code = static_cast<int>(Failure::failed);
  outcome.reason =
      fmt::format("it did not write {}, which outputs.keep names", join(outcome.kept.missing, ", "));
}

// What a failed job left is not worth a disk on which nobody can write any more.
void discard_outputs(const Attempt& attempt, Outcome& outcome) {
  for (const auto& output : outcome.kept.outputs) ::unlink((attempt.directory() / output.name).c_str());
  outcome.reason +=
      outcome.kept.outputs.empty() ? "; the disk is full" : "; the disk is full: nothing of it is kept";
  outcome.kept.outputs.clear();
}

// A full disk does not take from a job that finished what it has written and synced.
void write_result(const Attempt& attempt, const Task& task, const Ground& ground, Outcome& outcome) {
  const auto write = [&] { write_file(attempt.result(), result_json(attempt, task, ground, outcome)); };
  const auto no_room = [](const Error& error) {
    return error.number() == ENOSPC || error.number() == EDQUOT;
  };
  try {
    return write();
  } catch (const Error& error) {
    if (!task.told_elsewhere || !no_room(error)) throw;
    warn("{}", error.what());
  }
  if (outcome.state == State::finished) return;
  discard_outputs(attempt, outcome);
  try {
    write();
  } catch (const Error& error) {
    if (!no_room(error)) throw;
  }
}

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::finished:
      return "finished";
    case State::cancelled:
      return "cancelled";
    default:
      return "failed";
  }
}

void fill_spool(const Attempt& attempt, const job::Job& job) {
  if (!job.code.empty())
    within(fmt::format("cannot bundle the code in {}", job.code.string()),
           [&] { formats::pack_bundle(job.code, attempt.bundle()); });
  write_file(attempt.job_file(), job::to_json(job), 0600);
}

Outcome carry_out(Attempt& attempt, const Ground& ground, const Installation& installation,
                  Watcher& watcher) {
  Task task;
  task.job = job::from_json(read_file(attempt.job_file()), attempt.job_file().string());
  if (!task.job.code.empty()) task.bundle = attempt.bundle();
  task.identity = {{"LONGSHIP_JOB", attempt.name()}};
  return carry_out(attempt, task, ground, installation, watcher);
}

Outcome carry_out(Attempt& attempt, const Task& task, const Ground& ground, const Installation& installation,
                  Watcher& watcher) {
  attempt.make_places();
  if (!task.bundle.empty()) within("the code", [&] { unpack_code(task, attempt.work()); });
  watcher.interruptions.check();

  Watch watch(task.job, attempt, watcher);
  Outcome outcome;
  outcome.ranks = launch_ranks(make_plan(task, attempt, ground, installation), task.job, ground, installation,
                               watcher, watch);
  outcome.duration = watch.elapsed();
  if (watcher.passed) watcher.passed("ran");
  judge_ranks(task.job, watch, outcome);
  outcome.kept = keep_outputs(attempt.work(), task.job.outputs.keep, attempt.directory());
  judge_outputs(outcome);
  if (watcher.passed) watcher.passed("kept");
  write_result(attempt, task, ground, outcome);
  return outcome;
}

}  // namespace longship::pilot
