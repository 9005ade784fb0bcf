// SPDX-License-Identifier: Apache-2.0
// longship logs JOB: what its ranks wrote, by range from the site where it lies.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "hub_client.h"
#include "hub_events.h"
#include "launch/lines.h"
#include "launch/signals.h"

namespace longship::cli {
namespace {

struct Words {
  std::string job, hub;
  int rank = 0, attempt = 0;
  bool follow = false, all = false, err = false;
};

// What was shown so far of one rank.
struct Shown {
  std::uint64_t at = 0;
  std::string line;  // not yet ended; only with marks
};

class Logs {
 public:
  Logs(HubClient& hub, const Words& words, launch::Interruptions& interruptions)
      : hub_(hub), words_(words), interruptions_(interruptions) {}

  void show() {
    auto job = hub_.get(job_path(words_.job));
    if (const auto ranks = number_at(job, "ranks"); !words_.all && words_.rank >= ranks)
      throw Error(Failure::usage, "--rank {}: {} has {}, counted from 0", words_.rank, words_.job,
                  counted(ranks, "rank"));
    attempt_ = words_.attempt > 0 ? words_.attempt : number_at(job, "attempt");
    if (attempt_ == 0 && !words_.follow) {
      note("{} has not started: {}", words_.job, text_at(job, "reason"));
      return;
    }
    if (words_.follow)
      follow(std::move(job));
    else
      show_new(job, true);
    for (auto& [rank, shown] : ranks_) flush(rank, shown);
    if (!words_.err && !said_anything_)
      note("{}{} has written nothing to stdout; with --err comes what it wrote to stderr", words_.job,
           words_.all ? std::string() : fmt::format(", rank {},", words_.rank));
  }

 private:
  // What happens to the job the hub tells; what its ranks write has to be looked for.
  void follow(formats::Value job) {
    bool first = true;
    const auto look = [&]() -> std::optional<std::chrono::milliseconds> {
      if (interruptions_.take()) return {};
      if (!std::exchange(first, false)) job = job_again(std::move(job));
      while (true) {
        if (attempt_ > 0) show_new(job, false);
        const auto newest = number_at(job, "attempt");
        if (words_.attempt != 0 || newest <= attempt_) break;
        start(newest);
      }
      if (is_over(text_at(job, "state"))) return {};
      const bool writes = text_at(job, "state") == "running";
      return std::chrono::milliseconds(writes ? 500 : 5000);
    };
    watch(hub_, interruptions_, {[this](std::string_view changed) { return changed == words_.job; }, look});
  }

  void start(std::int64_t attempt) {
    for (auto& [rank, shown] : ranks_) flush(rank, shown);
    if (attempt_ > 0) note("{}: attempt {}", words_.job, attempt);
    ranks_.clear();
    attempt_ = attempt;
  }

  formats::Value job_again(formats::Value before) {
    try {
      return hub_.get(job_path(words_.job));
    } catch (const net::Unreachable&) {
      return before;  // it will come back, or Ctrl-C
    }
  }

  void show_new(const formats::Value& job, bool must) {
    const auto count = words_.all ? static_cast<int>(number_at(job, "ranks")) : 1;
    for (int i = 0; i < count; ++i) {
      const int rank = words_.all ? i : words_.rank;
      while (show_piece(rank, ranks_[rank], must)) {
      }
    }
    std::fflush(stdout);
  }

  // True: there may be more.
  bool show_piece(int rank, Shown& shown, bool must) {
    constexpr std::size_t most = 256 << 10;
    const auto path =
        job_path(words_.job, fmt::format("/log?rank={}&stream={}&attempt={}&from={}&length={}", rank,
                                         words_.err ? "err" : "out", attempt_, shown.at, most));
    net::Answer answer;
    try {
      answer = must ? hub_.checked({.path = path}) : hub_.call({.path = path});
    } catch (const net::Unreachable&) {
      if (must) throw;
      return false;
    }
    if (!answer.ok() || answer.body.empty()) return false;  // not there yet
    shown.at += answer.body.size();
    said_anything_ = true;
    if (words_.all)
      marked(rank, shown, answer.body);
    else
      std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    interruptions_.check();
    return answer.body.size() == most || shown.at < answer.number("x-longship-size");
  }

  static void marked(int rank, Shown& shown, std::string_view bytes) {
    for (const char c : bytes) {
      shown.line += c;
      if (c == '\n') flush(rank, shown);
    }
  }
  static void flush(int rank, Shown& shown) {
    if (shown.line.empty()) return;
    if (!shown.line.ends_with('\n')) shown.line += '\n';
    std::printf("[%d] ", rank);
    std::fwrite(shown.line.data(), 1, shown.line.size(), stdout);
    shown.line.clear();
  }

  HubClient& hub_;
  const Words& words_;
  launch::Interruptions& interruptions_;
  std::int64_t attempt_ = 0;
  std::map<int, Shown> ranks_;
  bool said_anything_ = false;
};

}  // namespace

void add_logs(Command& app, Context&) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("logs", "What a job's ranks wrote");
  command.argument("JOB", words->job, "digits-7");
  command.flag("-f,--follow", words->follow, "Until the job ended, over all its attempts");
  command.option("--rank", words->rank, "Of this rank (0)", {.range = Range{0, 9'999'999}});
  command.flag("--all", words->all, "Of all ranks, each line marked with its rank", {.excludes = "--rank"});
  command.flag("--err", words->err, "stderr instead of stdout");
  command.option("--attempt", words->attempt, "Of this attempt (the committed one, else the newest)",
                 {.range = Range{1, 1'000'000}});
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship logs -f digits-7\n"
      "  longship logs digits-7 --rank 3 --err\n");
  command.action = [words] {
    HubClient hub(words->hub);
    launch::Interruptions interruptions;
    Logs(hub, *words, interruptions).show();
  };
}

}  // namespace longship::cli
