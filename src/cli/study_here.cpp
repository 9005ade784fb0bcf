// SPDX-License-Identifier: Apache-2.0
#include "study_here.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "installation.h"
#include "record/reader.h"
#include "sweep/fill.h"
#include "sweep/metrics.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
constexpr auto patience_after_term = 20s;
constexpr const char* parent_variable = "LONGSHIP_PARENT_DIRECTORY";
constexpr const char* parent_in_the_box = "/parent";
constexpr std::size_t largest_metrics_file = std::size_t{256} << 20;

fs::path attempt_path(const fs::path& directory, study::TrialNumber trial, int attempt) {
  return directory / std::to_string(trial) / fmt::format("attempt-{}", attempt);
}

// The first that is free: one that was cut off may have left its own.
fs::path make_attempt(const fs::path& directory, const sweep::Start& start) {
  fs::create_directories(directory / std::to_string(start.trial));
  for (int number = start.attempt;; ++number) {
    auto place = attempt_path(directory, start.trial, number);
    if (::mkdir(place.c_str(), 0777) == 0) return place;
    if (errno != EEXIST) throw Error::from_errno(errno, "cannot make {}", place.string());
  }
}

std::string as_toml_list(const std::vector<std::string>& words) {
  return formats::dump_json(formats::Array(words.begin(), words.end()));
}

// Shown in a box beside the job's own data.
std::string data_with(const job::Job& job, const std::string& parent) {
  const auto table = [](const std::string& dataset, const std::string& at) {
    return fmt::format("{{dataset={}, at={}}}", formats::json_text(dataset), formats::json_text(at));
  };
  std::string list;
  for (const auto& data : job.data) list += table(data.dataset, data.at) + ", ";
  return "[" + list + table(parent, parent_in_the_box) + "]";
}

std::vector<std::string> run_of_job(const sweep::StudyFile& file, const job::Job& job,
                                    const sweep::Start& start, const fs::path& place,
                                    const std::string& parent) {
  auto filled = sweep::fill(file, job.command, job.environment, start);
  std::vector<std::string> words = {large_program(), "-q", "run", file.job, "--into", place};
  words.insert(words.end(), {"--set", "command=" + as_toml_list(filled.command)});
  if (!parent.empty()) filled.environment[parent_variable] = job.image.empty() ? parent : parent_in_the_box;
  if (!parent.empty() && !job.image.empty())
    words.insert(words.end(), {"--set", "data=" + data_with(job, parent)});
  for (const auto& [name, value] : filled.environment)
    words.insert(words.end(), {"--set", fmt::format("env.{}={}", name, formats::json_text(value))});
  return words;
}

std::vector<std::string> run_of_command(const sweep::StudyFile& file, const sweep::Start& start,
                                        const fs::path& place, const std::string& parent) {
  auto filled = sweep::fill(file, file.command, {}, start);
  if (!parent.empty()) filled.environment[parent_variable] = parent;
  filled.environment["LONGSHIP_TRIAL_DIRECTORY"] = place;
  std::vector<std::string> words = {
      node_program(), "-q",       "launch",         "-n",       "1",
      "--no-bind",    "--output", place / "output", "--record", place / "record"};
  for (const auto& [name, value] : filled.environment)
    words.insert(words.end(), {"--env", fmt::format("{}={}", name, value)});
  words.emplace_back("--");
  words.insert(words.end(), filled.command.begin(), filled.command.end());
  return words;
}

std::optional<formats::Value> result_of(const fs::path& run) {
  std::error_code ignored;
  if (!fs::exists(run / "result.json", ignored)) return {};
  return formats::parse_json(read_file(run / "result.json"), "result.json");
}

}  // namespace

struct TrialsHere::Running {
  Running(study::TrialNumber number, launch::Place where_it_runs, fs::path attempt, fs::path run_directory,
          const Command& command)
      : trial(number),
        where(std::move(where_it_runs)),
        place(std::move(attempt)),
        run(std::move(run_directory)),
        process(command),
        follower(record::log_path(run / "record", 0)) {}

  study::TrialNumber trial;
  launch::Place where;
  fs::path place, run;
  Process process;
  record::Follower follower;
  Steady::time_point begun = Steady::now();
  std::optional<Steady::time_point> stopped;
};

TrialsHere::TrialsHere(const sweep::StudyFile& file, fs::path directory, launch::Interruptions& interruptions)
    : file_(file),
      directory_(std::move(directory)),
      interruptions_(interruptions),
      job_(file.job.empty() ? std::nullopt : std::optional(job::load(file.job))),
      places_(job_ ? job_->needs : job::Needs{}, current_environment()) {
  const auto& environment = job_ ? job_->environment : std::map<std::string, std::string>{};
  sweep::check_placeholders(file, job_ ? job_->command : file.command, environment);
}

TrialsHere::~TrialsHere() {
  for (auto& [number, running] : running_) running->process.signal(SIGTERM);
  for (auto& [number, running] : running_)
    static_cast<void>(running->process.wait(std::chrono::milliseconds(5s)));  // then it is killed
}

std::string TrialsHere::start(const sweep::Start& start) {
  const auto place = make_attempt(directory_, start);
  const auto log = open_file(place / "log", O_WRONLY | O_CREAT | O_TRUNC);
  Command command;
  const auto parent = parent_directory(start);
  const auto where = places_.take();
  command.arguments = launch::at_place(where, job_ ? run_of_job(file_, *job_, start, place, parent)
                                                   : run_of_command(file_, start, place, parent));
  if (!where.node.empty()) command.input = alive_.read.get();
  command.directory = file_.directory;
  command.output = command.errors = log.get();
  command.die_with_parent = true;
  const auto run = job_ ? place / (job_->name + "-1") : place;
  const auto all_cores = launch::allowed_cores();
  if (!where.cores.empty()) launch::bind_to(where.cores);  // who is started inherits it
  running_[start.trial] = std::make_unique<Running>(start.trial, where, place, run, command);
  if (!where.cores.empty()) launch::bind_to(all_cores);
  return {};
}

// Its last attempt is the one that came to an end.
std::string TrialsHere::parent_directory(const sweep::Start& start) const {
  if (!start.parent) return {};
  int attempt = 1;
  while (fs::exists(attempt_path(directory_, *start.parent, attempt + 1))) ++attempt;
  const auto place = attempt_path(directory_, *start.parent, attempt);
  return fs::absolute(job_ ? place / (job_->name + "-1") : place);
}

void TrialsHere::stop(study::TrialNumber trial) {
  const auto found = running_.find(trial);
  if (found == running_.end() || found->second->stopped) return;
  found->second->stopped = Steady::now();
  found->second->process.signal(SIGTERM);
}

// What a trial left is its own: if it cannot be read, that trial has failed, and not the study.
sweep::Ended TrialsHere::judged(const Running& running, const Ending& ending) const {
  try {
    return judge(running, ending);
  } catch (const std::exception& error) {
    const double seconds = std::chrono::duration<double>(Steady::now() - running.begun).count();
    return {running.trial,
            sweep::Ending::failed,
            {},
            Error::of(error).what(),
            seconds * (job_ ? job_->needs.nodes : 1)};
  }
}

sweep::Ended TrialsHere::judge(const Running& running, const Ending& ending) const {
  const double seconds = std::chrono::duration<double>(Steady::now() - running.begun).count();
  sweep::Ended ended{
      running.trial, sweep::Ending::finished, {}, "", seconds * (job_ ? job_->needs.nodes : 1)};
  if (!ending.ok()) {
    ended.ending = running.stopped ? sweep::Ending::cancelled : sweep::Ending::failed;
    const auto result = result_of(running.run);
    const auto* reason = result ? result->find("reason") : nullptr;
    const auto said =
        printable(last_line_of(job_ ? running.place / "log" : running.place / "output" / "rank-00000.err"));
    ended.reason = reason != nullptr ? reason->text() : said.empty() ? ending.sentence() : said;
    return ended;
  }
  std::map<std::string, double> reported;
  std::error_code ignored;
  if (const auto log = record::log_path(running.run / "record", 0); fs::exists(log, ignored)) {
    const auto read = record::read_log(log);
    for (const auto& metrics : read.metrics)
      for (const auto& [name, value] : metrics.values) reported[read.names[name]] = value;
  }
  auto measured = sweep::measured(file_.objectives, reported, [&](const std::string& name) {
    const auto path = running.run / name;
    return fs::exists(path, ignored) ? std::optional(read_file(path, largest_metrics_file)) : std::nullopt;
  });
  ended.values = std::move(measured.values);
  ended.reason = std::move(measured.problem);
  return ended;
}

namespace {

void wait_for_any(std::vector<pollfd> waited, std::chrono::milliseconds patience) {
  ::poll(waited.data(), waited.size(), static_cast<int>(patience.count()));
}

}  // namespace

std::vector<sweep::Heard> TrialsHere::listen(std::chrono::milliseconds patience) {
  std::vector<pollfd> waited = {{interruptions_.fd(), POLLIN, 0}};
  for (const auto& [number, running] : running_)
    if (running->process.pidfd() >= 0) waited.push_back({running->process.pidfd(), POLLIN, 0});
  wait_for_any(std::move(waited), patience);
  interruptions_.check();
  std::vector<sweep::Heard> heard;
  for (auto place = running_.begin(); place != running_.end();) {
    auto& running = *place->second;
    const auto ending = running.process.wait(0ms);
    if (const auto metrics = running.follower.poll())
      for (const auto& [name, value] : metrics->values)
        if (name == file_.objectives.front().metric)
          heard.emplace_back(sweep::Progress{running.trial, static_cast<std::int64_t>(metrics->step), value});
    if (running.stopped && Steady::now() - *running.stopped > patience_after_term)
      running.process.signal(SIGKILL);
    if (ending) heard.emplace_back(judged(running, *ending));
    if (ending) places_.give_back(running.where);
    place = ending ? running_.erase(place) : std::next(place);
  }
  return heard;
}

}  // namespace longship::cli
