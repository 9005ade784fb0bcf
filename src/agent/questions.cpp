// SPDX-License-Identifier: Apache-2.0
#include "questions.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "record/reader.h"
#include "trace/report.h"

namespace longship::agent {
namespace {

using message::Answer;
using message::Question;

Fd open_attempt(const message::Spool& spool, const message::AttemptId& attempt) {
  try {
    return open_file(spool.attempt(attempt), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (const Error& error) {
    if (error.number() == ENOENT)
      throw Error("{} has left nothing here yet, or it was removed", attempt.text());
    throw;
  }
}

// A job's working files are its own business until they are kept.
bool is_private(std::string_view name) {
  const auto parts = split(name, '/');
  return std::find(parts.begin(), parts.end(), ".spool") != parts.end();
}

Fd open_regular(int directory, const std::string& name, struct stat& info) {
  if (name.empty() || is_private(name)) throw Error("\"{}\" is not for reading", printable(name));
  Fd fd = open_beneath(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (::fstat(fd.get(), &info) != 0) throw Error::from_errno(errno, "cannot look at {}", printable(name));
  if (!S_ISREG(info.st_mode)) throw Error("{} is no regular file", printable(name));
  return fd;
}

void part_of_file(int directory, const Question& question, Answer& answer) {
  struct stat info {};
  const Fd fd = open_regular(directory, question.name, info);
  answer.size = static_cast<std::uint64_t>(info.st_size);
  if (question.offset >= answer.size) return;
  const auto from = static_cast<off_t>(question.offset);
  answer.bytes.resize(std::min({answer.size - question.offset, question.length, largest_answer}));
  std::size_t have = 0;
  while (have < answer.bytes.size()) {
    const auto got = ::pread(fd.get(), answer.bytes.data() + have, answer.bytes.size() - have,
                             from + static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read {}", printable(question.name));
    if (got == 0) break;  // it became shorter
    have += static_cast<std::size_t>(got);
  }
  answer.bytes.resize(have);
}

// At most `most` of them, evenly, with the first and the last.
template <class Points>
formats::Array thinned(const Points& points, std::size_t most) {
  formats::Array kept;
  most = std::clamp<std::size_t>(most, 2, 100'000);
  if (points.size() <= most) return {points.begin(), points.end()};
  for (std::size_t i = 0; i < most; ++i) kept.push_back(points[i * (points.size() - 1) / (most - 1)]);
  return kept;
}

std::string metrics_json(const record::Log& log, std::size_t most) {
  std::map<std::uint32_t, formats::Array> series;
  std::uint64_t steps = 0;
  for (const auto& metrics : log.metrics) {
    steps = std::max(steps, metrics.steps);
    const double since_start = static_cast<double>(metrics.at - log.start) * 1e-9;
    for (const auto& [name, value] : metrics.values) {
      if (name >= log.names.size()) continue;
      formats::Array point;
      point.emplace_back(metrics.step);
      point.emplace_back(since_start);
      std::isfinite(value) ? point.emplace_back(value) : point.emplace_back();  // JSON has no NaN
      series[name].emplace_back(std::move(point));
    }
  }
  formats::Array list;
  for (const auto& [name, points] : series) {
    formats::Table one;
    one.set("name", log.names[name]);
    one.set("points", thinned(points, most));
    list.push_back(std::move(one));
  }
  formats::Table table;
  table.set("steps", steps);
  table.set("series", std::move(list));
  return formats::dump_json(table);
}

std::string through(const Fd& directory) {
  return fmt::format("/proc/self/fd/{}", directory.get());
}

std::string metrics_of(int attempt, std::size_t most) {
  struct stat info {};
  try {
    static_cast<void>(open_regular(attempt, "record/rank-00000.rec", info));
  } catch (const Error& error) {
    if (error.number() == ENOENT) return metrics_json({}, most);  // a script that reports nothing
    throw;
  }
  const Fd record = open_beneath(attempt, "record", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return metrics_json(record::read_log(record::log_path(through(record), 0)), most);
}

std::string report_of(int attempt) {
  const Fd record = [&] {
    try {
      return open_beneath(attempt, "record", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } catch (const Error& error) {
      if (error.number() == ENOENT) throw Error("nothing was recorded: does the script import longship?");
      throw;
    }
  }();
  if (!std::filesystem::exists(record::log_path(through(record), 0)))
    throw Error("nothing was recorded: does the script import longship?");
  return formats::dump_json(trace::to_json(trace::analyse(trace::load(through(record)))));
}

}  // namespace

message::Answer answer(const message::Spool& spool, const Question& question) noexcept {
  Answer answer;
  answer.id = question.id;
  try {
    const Fd attempt = open_attempt(spool, question.attempt);
    if (question.about == message::About::file) part_of_file(attempt.get(), question, answer);
    if (question.about == message::About::metrics)
      answer.bytes = metrics_of(attempt.get(), static_cast<std::size_t>(question.length));
    if (question.about == message::About::report) answer.bytes = report_of(attempt.get());
    if (question.about != message::About::file) answer.size = answer.bytes.size();
  } catch (const std::exception& error) {
    answer.error = Error::of(error).what();
    answer.bytes.clear();
  }
  return answer;
}

}  // namespace longship::agent
