// SPDX-License-Identifier: Apache-2.0
#include "hub_wait.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "hub_events.h"
#include "net/address.h"
#include "terminal.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
constexpr auto longest_absence = 15min;
constexpr std::chrono::milliseconds longest_trust = 5s;  // in events that do not come

// A hub that restarts is no reason to give up.
class Asking {
 public:
  explicit Asking(HubClient& hub) : hub_(hub) {}

  // Nothing: the hub does not answer just now.
  std::optional<formats::Value> operator()(const std::string& path) {
    try {
      auto value = hub_.get(path);
      heard_ = SteadyClock::now();
      return value;
    } catch (const net::Unreachable&) {
      if (SteadyClock::now() - heard_ > longest_absence) throw;
      return {};
    }
  }

 private:
  HubClient& hub_;
  SteadyClock::time_point heard_ = SteadyClock::now();
};

std::vector<std::pair<std::string, double>> metrics_of(const formats::Value& progress) {
  std::vector<std::pair<std::string, double>> values;
  const auto* table = progress.find("values");
  if (table == nullptr || !table->is(formats::Kind::table)) return values;
  for (const auto& entry : table->table())
    if (entry.value.is(formats::Kind::number) || entry.value.is(formats::Kind::integer))
      values.emplace_back(printable(entry.key), entry.value.number());
  return values;
}

}  // namespace

std::string progress_of(const formats::Value& job) {
  const auto* progress = job.find("progress");
  if (progress == nullptr || !progress->is(formats::Kind::table)) return {};
  const auto step = static_cast<std::uint64_t>(number_at(*progress, "step"));
  const auto steps = static_cast<std::uint64_t>(number_at(*progress, "steps"));
  const auto words = metrics_words(metrics_of(*progress));
  return steps_words(step, steps) + (words.empty() ? "" : "  " + words);
}

namespace {

void show(LiveLine& live, const formats::Value& job) {
  const auto state = text_at(job, "state");
  const auto* progress = job.find("progress");
  if (state == "running" || (state == "finished" && progress != nullptr)) {
    const auto step = progress != nullptr ? static_cast<std::uint64_t>(number_at(*progress, "step")) : 0;
    const auto steps = progress != nullptr ? static_cast<std::uint64_t>(number_at(*progress, "steps")) : 0;
    const auto words = progress != nullptr ? metrics_words(metrics_of(*progress)) : std::string();
    if (step == 0 && state != "running") return;
    const auto counted = step > 0 ? steps_words(step, steps) : "at " + text_at(job, "site");
    live.show({.what = step > 0 ? "training" : "running",
               .done = step,
               .total = steps,
               .counted = counted,
               .details = words});
  } else if (!is_over(state)) {
    const auto reason = text_at(job, "reason");
    live.show({.what = reason.empty() ? state : state + ":", .counted = reason, .details = {}});
  }
}

}  // namespace

formats::Value wait_for_job(HubClient& hub, const std::string& id, launch::Interruptions& interruptions) {
  Asking ask(hub);
  LiveLine live;
  std::optional<formats::Value> job;
  const auto look = [&]() -> std::optional<std::chrono::milliseconds> {
    interruptions.check();
    job = ask(job_path(id));
    if (job) {
      show(live, *job);
      if (is_over(text_at(*job, "state"))) return {};
    } else {
      live.show({.what = "waiting",
                 .counted = "the hub does not answer: the job goes on without it",
                 .details = {}});
    }
    return longest_trust;
  };
  watch(hub, interruptions, {[&](std::string_view changed) { return changed == id; }, look});
  live.finish();
  return *job;
}

std::vector<formats::Value> wait_for_jobs(HubClient& hub, const std::vector<std::string>& ids,
                                          launch::Interruptions& interruptions) {
  Asking ask(hub);
  LiveLine live;
  std::vector<formats::Value> over;
  std::size_t failed = 0;
  const auto tell = [&] {
    const auto counted = fmt::format("{}/{} jobs", over.size(), ids.size());
    const auto details = failed > 0 ? fmt::format("{} failed", failed) : std::string();
    live.show({.what = "running",
               .done = over.size(),
               .total = ids.size(),
               .counted = counted,
               .details = details});
  };
  const auto look = [&]() -> std::optional<std::chrono::milliseconds> {
    while (over.size() < ids.size()) {
      interruptions.check();
      auto job = ask(job_path(ids[over.size()]));
      const auto state = job ? text_at(*job, "state") : std::string();
      tell();
      if (!is_over(state)) return longest_trust;
      failed += state != "finished" ? 1 : 0;
      over.push_back(std::move(*job));
    }
    tell();
    return {};
  };
  const auto concerns = [&](std::string_view changed) {
    return over.size() < ids.size() && changed == ids[over.size()];
  };
  watch(hub, interruptions, {concerns, look});
  live.finish();
  return over;
}

namespace {

struct Offered {
  std::string name;
  std::uint64_t size = 0;
};

// A site chose the names: all are checked before the first is used.
std::vector<Offered> offered_outputs(const formats::Value& job) {
  std::vector<Offered> offered;
  for (const auto& attempt : list_at(job, "attempts")) {
    if (number_at(attempt, "number") != number_at(job, "attempt")) continue;
    for (const auto& output : list_at(attempt, "outputs")) {
      const auto* name = output.find("name");
      if (name == nullptr) continue;
      for (const auto part : split(name->text(), '/'))
        if (part.empty() || part == "." || part == "..")
          throw Error("the site reports an output \"{}\", which leads away: nothing was written",
                      printable(name->text()));
      offered.push_back({name->text(), static_cast<std::uint64_t>(number_at(output, "size"))});
    }
  }
  return offered;
}

}  // namespace

std::vector<Fetched> fetch_outputs(HubClient& hub, const formats::Value& job, const fs::path& into) {
  std::vector<Fetched> fetched;
  const auto progress = make_progress();
  for (const auto& [name, size] : offered_outputs(job)) {
    const auto rest =
        fmt::format("/files/{}?attempt={}", net::percent_encode(name, true), number_at(job, "attempt"));
    hub.download(job_path(text_at(job, "id"), rest), into / name, size, *progress);
    fetched.push_back({into / name, size});
  }
  return fetched;
}

std::string last_words(HubClient& hub, const std::string& id, std::size_t lines) {
  for (const std::string_view stream : {"err", "out"}) {
    const auto answer =
        hub.call({.path = job_path(id, fmt::format("/log?stream={}&from=-8192&length=8192", stream))});
    if (!answer.ok()) return {};
    std::vector<std::string> words;
    for (const auto line : split(trim(answer.body), '\n')) words.push_back(printable(line));
    if (words.size() == 1 && words.front().empty()) continue;
    if (words.size() > lines) words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(lines));
    return join(words, "\n") + "\n";
  }
  return {};
}

int exit_code_of(const formats::Value& job) {
  if (text_at(job, "state") == "finished") return 0;
  const auto code = number_at(job, "exit_code");
  return code > 0 && code < 256 ? static_cast<int>(code) : static_cast<int>(Failure::failed);
}

}  // namespace longship::cli
