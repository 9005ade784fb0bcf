// SPDX-License-Identifier: Apache-2.0
#include "local.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cores.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/units.h"
#include "request.h"
#include "supervisor.h"

namespace longship::batch {
namespace fs = std::filesystem;

namespace {

std::optional<std::string> content(const fs::path& path) {
  try {
    return read_file(path, 1u << 20);
  } catch (const Error& error) {
    if (error.number() == ENOENT) return {};
    throw;
  }
}

// Those of `all` that nobody has, as many as wanted.
std::vector<int> take_free(const std::vector<int>& all, const std::vector<int>& taken, int wanted) {
  std::vector<int> free;
  for (const int one : all)
    if (static_cast<int>(free.size()) < wanted && std::find(taken.begin(), taken.end(), one) == taken.end())
      free.push_back(one);
  return free;
}

// Set-up lines need a shell; the command stays a list of words.
std::vector<std::string> with_setup(const Pilot& pilot) {
  if (pilot.setup.empty()) return pilot.command;
  std::vector<std::string> words = {"/bin/bash", "-c", join(pilot.setup, "\n") + "\nexec \"$@\"",
                                    "longship-setup"};
  words.insert(words.end(), pilot.command.begin(), pilot.command.end());
  return words;
}

Environment environment_of(const Pilot& pilot) {
  auto environment = current_environment();
  for (const auto& [name, value] : pilot.environment) environment[name] = value;
  std::erase_if(environment, [](const auto& variable) {
    return variable.first == "LONGSHIP_HUB" || variable.first.starts_with("LONGSHIP_TOKEN");
  });
  return environment;
}

LocalPilot read_pilot(const fs::path& place, std::string_view request) {
  LocalPilot known{place, {}};
  try {
    known.request = request_from_json(request, (place / "request.json").string());
    if (const auto process = content(place / "process")) known.claim = parse_claim(*process);
    if (!known.claim) return known;
    const auto life = life_of(*known.claim);
    // After its life: a supervisor writes `ended` before it goes.
    if (const auto ended = content(place / "ended")) known.end = parse_end(*ended);
    known.state = known.end || life == Life::gone ? State::ended
                  : life == Life::alive           ? State::running
                                                  : State::unknown;
  } catch (const Error& error) {
    known.state = State::unknown;
    known.trouble = error.what();
  }
  return known;
}

std::string sentence(const End& end) {
  const auto how = end.kind == End::Kind::not_started
                       ? fmt::format("could not be started: {}", std::strerror(end.number))
                   : end.kind == End::Kind::killed ? Ending{0, end.number}.sentence()
                                                   : Ending{end.number, 0}.sentence();
  if (end.asked == End::Asked::cancel) return "cancelled: " + how;
  if (end.asked == End::Asked::walltime) return "its walltime was over: " + how;
  return how;
}

int exit_code(const End& end) {
  return end.kind == End::Kind::killed        ? 128 + end.number
         : end.kind == End::Kind::not_started ? 127
                                              : end.number;
}

}  // namespace

Local::Local(fs::path directory, Capacity capacity, std::chrono::milliseconds grace)
    : directory_(std::move(directory)), capacity_(capacity), grace_(grace), cores_(allowed_cores()) {
  if (static_cast<int>(cores_.size()) != capacity_.cores) cores_.clear();
  within("local", [&] {
    fs::create_directories(directory_);
    const auto held = lock();
    forget_old();
  });
}

std::string Local::submit(const Pilot& pilot) {
  check(pilot);
  return within("local: pilot " + pilot.name, [&] {
    if (pilot.nodes > 1) throw Error("it asks for {} nodes, and this machine is one", pilot.nodes);
    if (pilot.cores > capacity_.cores || pilot.gpus > capacity_.gpus)
      throw Error("it asks for {} cores and {} GPUs, and this machine has {} and {}", pilot.cores, pilot.gpus,
                  capacity_.cores, capacity_.gpus);
    if (capacity_.memory > 0 && pilot.memory > capacity_.memory)
      throw Error("it asks for {} of memory, and this machine has {}", formats::human_bytes(pilot.memory),
                  formats::human_bytes(capacity_.memory));
    const auto held = lock();
    auto all = look();
    if (all.contains(pilot.name)) throw Error("there is a pilot of this name already");
    std::int64_t last = 0;
    for (const auto& [name, known] : all) last = std::max(last, known.request.number);
    const auto place = directory_ / pilot.name;
    fs::create_directory(place);
    fs::permissions(place, fs::perms::owner_all);
    Known known{place, {last + 1, pilot}};
    if (known.request.pilot.cores == 0) known.request.pilot.cores = capacity_.cores;
    write_file(place / "request.json", to_json(known.request), 0600);
    sync_directory(directory_);
    failpoint("batch.local.requested");
    all.emplace(pilot.name, std::move(known));
    start_what_fits(all);
    return report_of(all.at(pilot.name), all).id;
  });
}

Reports Local::report(std::span<const std::string> names) {
  return within("local", [&] {
    const auto held = lock();
    auto all = look();
    start_what_fits(all);
    Reports reports;
    for (const auto& name : names) {
      const auto found = all.find(name);
      reports.emplace(name, found != all.end()
                                ? report_of(found->second, all)
                                : Report{State::unknown, "there is no pilot of this name here"});
    }
    return reports;
  });
}

void Local::cancel(const std::string& name) {
  within("local: pilot " + name, [&] {
    const auto held = lock();
    const auto all = look();
    const auto found = all.find(name);
    if (found == all.end() || found->second.state == State::ended) return;
    failpoint("batch.local.cancelling");
    if (claim_as_cancelled(found->second.place)) return;
    if (const auto text = content(found->second.place / "process"))
      signal_supervisor(parse_claim(*text), SIGTERM);
  });
}

Fd Local::lock() const {
  return wait_for_lock(directory_ / "lock");
}

Local::All Local::look() {
  All all;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (!entry.is_directory()) continue;
    const auto name = entry.path().filename().string();
    if (const auto known = ended_.find(name); known != ended_.end()) {
      all.insert(*known);
      continue;
    }
    const auto request = content(entry.path() / "request.json");
    if (!request) continue;  // its maker was killed before it was asked for
    const auto& known = all.emplace(name, read_pilot(entry.path(), *request)).first->second;
    if (known.state == State::ended) ended_.emplace(name, known);
  }
  std::erase_if(ended_, [&](const auto& known) { return !all.contains(known.first); });
  return all;
}

// Strictly in line, so that a large pilot's turn comes.
void Local::start_what_fits(All& all) const {
  std::vector<Known*> line;
  for (auto& [name, known] : all)
    if (known.state == State::queued) line.push_back(&known);
  std::sort(line.begin(), line.end(), [](auto* a, auto* b) { return a->request.number < b->request.number; });
  for (auto* known : line) {
    if (!fits(known->request.pilot, all)) return;
    try {
      start(*known, all);
    } catch (const Error& error) {
      known->trouble = error.what();
      return;
    }
  }
}

void Local::start(Known& known, const All& all) const {
  const auto& pilot = known.request.pilot;
  std::vector<int> cores, gpus, all_gpus;
  for (const auto& [name, other] : all)
    if (other.state == State::running) {
      cores.insert(cores.end(), other.claim->cores.begin(), other.claim->cores.end());
      gpus.insert(gpus.end(), other.claim->gpus.begin(), other.claim->gpus.end());
    }
  for (int gpu = 0; gpu < capacity_.gpus; ++gpu) all_gpus.push_back(gpu);
  Orders orders;
  orders.place = known.place;
  orders.command = with_setup(pilot);
  orders.environment = environment_of(pilot);
  orders.directory = pilot.directory;
  orders.output = pilot.output;
  orders.walltime = pilot.walltime;
  orders.grace = grace_;
  orders.cores = take_free(cores_, cores, pilot.cores);
  orders.gpus = take_free(all_gpus, gpus, pilot.gpus);
  if (capacity_.gpus > 0) {
    std::vector<std::string> words;
    for (const int gpu : orders.gpus) words.push_back(std::to_string(gpu));
    orders.environment["CUDA_VISIBLE_DEVICES"] = join(words, ",");
  }
  start_supervisor(orders);
  failpoint("batch.local.forked");
  const auto process = content(known.place / "process");
  if (!process) throw Error("its supervisor left no word");
  known.claim = parse_claim(*process);
  known.state = known.claim->pid == 0 ? State::ended : State::running;
}

bool Local::fits(const Pilot& pilot, const All& all) const {
  int cores = 0, gpus = 0;
  std::uint64_t memory = 0;
  for (const auto& [name, known] : all)
    if (known.state == State::running) {
      cores += known.request.pilot.cores;
      gpus += known.request.pilot.gpus;
      memory += known.request.pilot.memory;
    }
  // A pilot larger than the machine was asked for when the machine was larger: it runs alone.
  if (cores == 0 && gpus == 0 && memory == 0) return true;
  return cores + pilot.cores <= capacity_.cores && gpus + pilot.gpus <= capacity_.gpus &&
         (capacity_.memory == 0 || memory + pilot.memory <= capacity_.memory);
}

std::string Local::waiting_for(const Known& known, const All& all) const {
  if (!known.trouble.empty()) return known.trouble;
  int before = 0, running = 0, used = 0;
  for (const auto& [name, other] : all) {
    if (other.state == State::queued && other.request.number < known.request.number) ++before;
    if (other.state != State::running) continue;
    ++running;
    used += other.request.pilot.cores;
  }
  const auto line = before == 0 ? std::string() : fmt::format("{} before it; ", before);
  return fmt::format("{}needs {} cores, {} of {} are free ({} running)", line, known.request.pilot.cores,
                     std::max(0, capacity_.cores - used), capacity_.cores, running);
}

Report Local::report_of(const Known& known, const All& all) const {
  Report report{known.state};
  if (known.claim && known.claim->pid != 0) report.id = std::to_string(known.claim->pid);
  if (known.state == State::queued) {
    report.reason = waiting_for(known, all);
  } else if (known.state == State::unknown) {
    report.reason =
        !known.trouble.empty() ? known.trouble : fmt::format("it was started on host {}", known.claim->host);
  } else if (known.state == State::ended && known.end) {
    report.reason = sentence(*known.end);
    report.exit_code = exit_code(*known.end);
  } else if (known.state == State::ended) {
    report.reason = known.claim->pid == 0
                        ? "cancelled before it started"
                        : "killed together with its supervisor, or the machine was restarted";
  }
  return report;
}

void Local::forget_old() {
  const auto before = fs::file_time_type::clock::now() - std::chrono::days(7);
  for (const auto& [name, known] : look()) {
    std::error_code failed;
    const auto changed = fs::last_write_time(known.place, failed);
    if (known.state == State::ended && !failed && changed < before) remove_tree(known.place);
  }
}

}  // namespace longship::batch
