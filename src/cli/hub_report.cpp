// SPDX-License-Identifier: Apache-2.0
#include "hub_report.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "hub_client.h"
#include "record/reader.h"
#include "terminal.h"

namespace longship::cli {
namespace {

double real_at(const formats::Value& value, std::string_view key) {
  const auto* found = value.find(key);
  const bool known =
      found != nullptr && (found->is(formats::Kind::number) || found->is(formats::Kind::integer));
  return known ? found->number() : 0;
}

std::int64_t nanoseconds_at(const formats::Value& value, std::string_view key) {
  return static_cast<std::int64_t>(real_at(value, key) * 1e9);
}

trace::ActivityTimes times_at(const formats::Value& value) {
  trace::ActivityTimes times{};
  if (const auto* seconds = value.find("seconds"))
    for (std::size_t i = 0; i < times.size(); ++i)
      times[i] = nanoseconds_at(*seconds, record::activity_names[i]);
  return times;
}

std::vector<std::string> sentences_at(const formats::Value& value, std::string_view key) {
  std::vector<std::string> sentences;
  for (const auto& one : list_at(value, key))
    if (one.is(formats::Kind::text)) sentences.push_back(printable(one.text()));
  return sentences;
}

int whom(const formats::Value& rank) {
  const auto* found = rank.find("waited_for");
  return found != nullptr && found->is(formats::Kind::integer) ? static_cast<int>(found->integer()) : -1;
}

}  // namespace

trace::Report report_from_json(const formats::Value& value) {
  trace::Report report;
  report.size = static_cast<int>(number_at(value, "ranks"));
  report.length = nanoseconds_at(value, "interval_seconds");
  report.steps = static_cast<std::uint64_t>(number_at(value, "steps"));
  report.times = times_at(value);
  if (const auto* collectives = value.find("collectives")) {
    report.collectives = static_cast<std::uint64_t>(number_at(*collectives, "count"));
    report.median_bytes = static_cast<std::uint64_t>(number_at(*collectives, "median_bytes"));
    report.moving = nanoseconds_at(*collectives, "moving_seconds");
    report.hidden = nanoseconds_at(*collectives, "hidden_seconds");
  }
  if (const auto* recording = value.find("recording"))
    report.recording = {static_cast<std::uint64_t>(number_at(*recording, "entries")),
                        nanoseconds_at(*recording, "seconds")};
  if (const auto* metrics = value.find("metrics"); metrics != nullptr && metrics->is(formats::Kind::table))
    for (const auto& entry : metrics->table())
      report.metrics.emplace_back(printable(entry.key), real_at(*metrics, entry.key));
  for (const auto& rank : list_at(value, "by_rank"))
    report.ranks.push_back({.rank = static_cast<int>(number_at(rank, "rank")),
                            .node = text_at(rank, "node"),
                            .times = times_at(rank),
                            .hidden = nanoseconds_at(rank, "hidden_seconds"),
                            .waited_for = whom(rank),
                            .for_that = nanoseconds_at(rank, "waited_for_seconds"),
                            .last = static_cast<std::uint64_t>(number_at(rank, "arrived_last")),
                            .caused = nanoseconds_at(rank, "others_waited_seconds")});
  report.advice = sentences_at(value, "advice");
  report.problems = sentences_at(value, "problems");
  return report;
}

void fetch_recordings(HubClient& hub, const std::string& job, const std::filesystem::path& into) {
  const auto about = hub.get(job_path(job));
  const auto ranks = static_cast<int>(number_at(about, "ranks"));
  const auto progress = make_progress();
  progress->begin("fetching recordings", static_cast<std::uint64_t>(ranks), "ranks");
  for (int rank = 0; rank < ranks; ++rank) {
    const auto file = record::log_path(into, rank);
    const Fd fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    net::Call asked{.path = job_path(text_at(about, "id"), "/files/record/" + file.filename().string())};
    asked.sink = [&](std::string_view bytes) { write_all(fd.get(), bytes); };
    within(fmt::format("the recording of rank {}", rank), [&] { hub.checked(asked); });
    progress->update(static_cast<std::uint64_t>(rank) + 1);
  }
  progress->end();
}

}  // namespace longship::cli
