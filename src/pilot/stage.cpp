// SPDX-License-Identifier: Apache-2.0
// An assignment carried out: from the spool's words to places, ranks and outputs.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/say.h"
#include "formats/document.h"
#include "runner.h"
#include "store/image.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_listed = 10'000;  // outputs, so that a message stays one

Done lost(const Error& error) {
  Done done;
  done.how = Done::How::lost;
  done.exit_code = static_cast<int>(Failure::failed);
  done.reason = error.what();
  return done;
}

// Full and broken disks are nobody's fault; an output with a forbidden name is the job's.
bool is_the_disks_fault(const Error& error) {
  const int number = error.number();
  return number == ENOSPC || number == EDQUOT || number == EIO || number == ESTALE || number == EROFS;
}

fs::path make_checkpoints(const message::Spool& spool, const std::string& job) {
  const fs::path directory = spool.checkpoints(job);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error::from_errno(errno, "cannot make {}", directory.string());
  return directory;
}

Task task_of(const Berth& berth, const Start& start) {
  const auto& assignment = start.assignment;
  Task task;
  task.job = *start.job;
  if (!assignment.code.digest.empty()) {
    task.bundle = berth.spool.code(assignment.code.digest);
    task.bundle_digest = assignment.code.digest;
  }
  task.checkpoints = make_checkpoints(berth.spool, assignment.attempt.job);
  task.resume = assignment.resume;
  task.told_elsewhere = true;
  task.identity = {{"LONGSHIP_JOB", assignment.attempt.job},
                   {"LONGSHIP_ATTEMPT", std::to_string(assignment.attempt.number)}};
  return task;
}

Done done_of(const Outcome& outcome) {
  Done done;
  done.exit_code = outcome.exit_code;
  done.reason = outcome.reason;
  done.duration = outcome.duration;
  for (const auto& output : outcome.kept.outputs) {
    if (done.outputs.size() == most_listed) break;
    done.outputs.push_back({output.name, output.size});
  }
  if (outcome.kept.outputs.size() > most_listed)
    warn("{} outputs were kept, of which {} are told to the hub", outcome.kept.outputs.size(), most_listed);
  const bool stopped =
      outcome.ranks.cause == launch::Cause::stopped || outcome.ranks.cause == launch::Cause::signal;
  if (outcome.state != State::finished) done.how = stopped ? Done::How::stopped : Done::How::failed;
  return done;
}

}  // namespace

Ground ground_of(const Berth& berth, const Start& start) {
  std::optional<store::Image> image;
  if (!start.assignment.image.empty())
    image = store::image_from_json(formats::parse_json(start.assignment.image, "the image's record"));
  return look_at_the_ground(*start.job, image, berth.image_store, berth.engine);
}

std::vector<std::string> checkpoints_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(directory, problem))
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Done carry_out_assignment(const Berth& berth, const Start& start, Watcher& watcher) {
  bool ran = false;
  const auto passed = watcher.passed;
  watcher.passed = [&](std::string_view step) {
    ran = true;
    if (passed) passed(step);
  };
  Done done;
  try {
    const Ground ground = ground_of(berth, start);
    Attempt attempt(berth.spool.attempt(start.assignment.attempt));
    const Task task = task_of(berth, start);
    done = done_of(carry_out(attempt, task, ground, berth.installation, watcher));
  } catch (const Error& error) {
    done = lost(error);
    const bool own_fault = ran || error.failure() == Failure::usage;
    if (own_fault && !is_the_disks_fault(error)) done.how = Done::How::failed;
  } catch (const std::exception& error) {
    done = lost(Error::of(error));
  }
  const fs::path checkpoints = berth.spool.checkpoints(start.assignment.attempt.job);
  done.checkpoint = !checkpoints_in(checkpoints).empty();
  ::rmdir(checkpoints.c_str());  // only if it is empty
  return done;
}

}  // namespace longship::pilot
