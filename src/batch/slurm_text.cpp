// SPDX-License-Identifier: Apache-2.0
#include "slurm_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/error.h"
#include "base/text.h"

namespace longship::batch {
namespace {

// The pilot asks for checkpoints two minutes before the end by its own clock. This is the second warning, for
// the case that Slurm's clock started long before: Slurm sends it 60 to 120 seconds before the end, as its
// own resolution is a minute. Short allocations would get it while they start.
constexpr std::string_view warning = "--signal=B:TERM@60";
constexpr std::chrono::minutes long_enough_for_warning{10};

std::int64_t minutes_of(std::chrono::seconds walltime) {
  return std::chrono::ceil<std::chrono::minutes>(walltime).count();
}

// In the name of an output file %j and the like stand for something else.
std::string without_patterns(std::string_view path) {
  std::string plain;
  for (const char c : path) plain += c == '%' ? "%%" : std::string(1, c);
  return plain;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
}

template <class Integer>
std::optional<Integer> integer(std::string_view text) {
  Integer number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return {};
  return number;
}

// "0:15": exit code and signal.
std::optional<int> exit_code_of(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2) return {};
  const auto code = integer<int>(parts[0]), signal = integer<int>(parts[1]);
  if (!code || !signal || *code < 0 || *signal < 0 || *signal > 127) return {};
  return *signal != 0 ? 128 + *signal : *code;
}

struct Line {
  int number = 0;
  std::vector<std::string_view> fields;
};

// Lines of `count` fields, of which the last may have bars in it.
std::vector<Line> lines_of(std::string_view text, std::size_t count, std::string_view format) {
  std::vector<Line> lines;
  int number = 0;
  for (const auto whole : split(text, '\n')) {
    auto line = whole;
    ++number;
    if (trim(line).empty()) continue;
    Line found{number, {}};
    for (std::size_t i = 1; i < count; ++i) {
      const auto bar = line.find('|');
      if (bar == std::string_view::npos)
        throw Error("line {}: not {}: \"{}\"", number, format, printable(whole.substr(0, 200)));
      found.fields.push_back(trim(line.substr(0, bar)));
      line.remove_prefix(bar + 1);
    }
    found.fields.push_back(line);
    lines.push_back(std::move(found));
  }
  return lines;
}

// Of two jobs with one name the one that is more alive counts.
int liveliness(State state) {
  switch (state) {
    case State::running:
      return 3;
    case State::queued:
      return 2;
    case State::ended:
      return 1;
    case State::unknown:
      return 0;
  }
  return 0;
}

void keep_livelier(Reports& reports, std::string_view name, Report report) {
  const auto found = reports.find(std::string(name));
  if (found == reports.end()) return;
  auto& kept = found->second;
  if (kept.id.empty() || liveliness(report.state) > liveliness(kept.state)) kept = std::move(report);
}

Reports all_unknown(std::span<const std::string> names) {
  Reports reports;
  for (const auto& name : names) reports.emplace(name, Report{});
  return reports;
}

// What a person wants to read: the reason of what waits, the state of the rest, "None" of nobody.
std::string sentence(State state, std::string_view word, std::string_view reason) {
  const bool has_reason = !reason.empty() && reason != "None";
  if (state == State::running && word == "RUNNING") return "";
  if (state == State::queued && has_reason) return printable(reason);
  return has_reason ? fmt::format("{} ({})", printable(word), printable(reason)) : printable(word);
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  // $'…' has an escape for each character that could end a line; sbatch refuses scripts with \r\n in them.
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  std::string word = has_control ? "$'" : "'";
  for (const char c : text) {
    if (has_control && static_cast<unsigned char>(c) < 32)
      word += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else if (has_control && (c == '\'' || c == '\\'))
      word += {'\\', c};
    else if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string script_of(const Pilot& pilot) {
  // "module" and its like are functions of a login shell; without set-up lines nobody asks for them.
  std::string script = pilot.setup.empty() ? "#!/bin/bash\n" : "#!/bin/bash -l\n";
  for (const auto& [name, value] : pilot.environment)
    script += fmt::format("export {}={}\n", name, shell_word(value));
  for (const auto& line : pilot.setup) script += line + "\n";
  // In the shell's place, so that Slurm's signals reach the pilot itself.
  script += "exec";
  for (const auto& word : pilot.command) script += " " + shell_word(word);
  return script + "\n";
}

std::vector<std::string> sbatch_words(const Pilot& pilot) {
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--no-requeue",
                                    "--job-name=" + pilot.name,
                                    "--partition=" + pilot.queue,
                                    fmt::format("--nodes={}", pilot.nodes),
                                    "--ntasks-per-node=1"};
  words.push_back(pilot.cores > 0 ? fmt::format("--cpus-per-task={}", pilot.cores) : "--exclusive");
  if (pilot.walltime.count() > 0) words.push_back(fmt::format("--time={}", minutes_of(pilot.walltime)));
  if (pilot.walltime > long_enough_for_warning) words.emplace_back(warning);
  if (pilot.memory > 0) words.push_back(fmt::format("--mem={}M", (pilot.memory + (1u << 20) - 1) >> 20));
  if (pilot.gpus > 0) words.push_back(fmt::format("--gres=gpu:{}", pilot.gpus));
  if (!pilot.account.empty()) words.push_back("--account=" + pilot.account);
  if (!pilot.qos.empty()) words.push_back("--qos=" + pilot.qos);
  words.push_back("--chdir=" + (pilot.directory.empty() ? "/" : pilot.directory.string()));
  words.push_back("--output=" +
                  (pilot.output.empty() ? "/dev/null" : without_patterns(pilot.output.string())));
  words.insert(words.end(), pilot.options.begin(), pilot.options.end());
  return words;
}

std::string parse_sbatch(std::string_view text) {
  // Some sites' plugins talk before sbatch does: the answer is the last line.
  for (auto lines = split(text, '\n'); !lines.empty(); lines.pop_back()) {
    const auto line = trim(lines.back());
    if (line.empty()) continue;
    const auto id = line.substr(0, line.find(';'));
    if (integer<std::uint64_t>(id)) return std::string(id);
    throw Error("sbatch: expected the number of a job, found \"{}\"", printable(line.substr(0, 200)));
  }
  throw Error("sbatch: expected the number of a job, found nothing");
}

Reports parse_squeue(std::string_view text, std::span<const std::string> names) {
  auto reports = all_unknown(names);  // until squeue says more
  for (const auto& [number, fields] : lines_of(text, 5, "id|state|start|reason|name")) {
    Report report;
    report.state = state_of(fields[1]);
    report.reason = sentence(report.state, fields[1], fields[3]);
    report.id = fields[0];
    if (report.state == State::queued) report.expected_start = parse_time(fields[2]);
    keep_livelier(reports, fields[4], std::move(report));
  }
  return reports;
}

Reports parse_sacct(std::string_view text, std::span<const std::string> names) {
  auto reports = all_unknown(names);
  for (const auto& [number, fields] : lines_of(text, 4, "id|state|exit code|name")) {
    Report report;
    report.state = state_of(fields[1]) == State::ended ? State::ended : State::unknown;
    report.reason = printable(fields[1]);
    if (report.state == State::unknown)
      report.reason = fmt::format("squeue does not know it any more, sacct says {}", report.reason);
    else
      report.exit_code = exit_code_of(fields[2]);
    report.id = fields[0];
    keep_livelier(reports, fields[3], std::move(report));
  }
  return reports;
}

State state_of(std::string_view word) {
  word = word.substr(0, word.find(' '));
  constexpr std::array<std::string_view, 7> queued = {
      "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  constexpr std::array<std::string_view, 7> running = {"RUNNING",   "COMPLETING", "SUSPENDED", "SIGNALING",
                                                       "STAGE_OUT", "RESIZING",   "STOPPED"};
  constexpr std::array<std::string_view, 11> ended = {
      "COMPLETED", "FAILED",   "CANCELLED", "TIMEOUT",       "NODE_FAIL",    "PREEMPTED",
      "BOOT_FAIL", "DEADLINE", "REVOKED",   "LAUNCH_FAILED", "OUT_OF_MEMORY"};
  const auto is_in = [&](const auto& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return is_in(queued)    ? State::queued
         : is_in(running) ? State::running
         : is_in(ended)   ? State::ended
                          : State::unknown;
}

std::int64_t parse_time(std::string_view text) {
  if (const auto seconds = integer<std::int64_t>(text)) return std::max<std::int64_t>(0, *seconds);
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != shape.size()) return 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i]) return 0;
  const auto part = [&](std::size_t at, std::size_t size) {
    return integer<int>(text.substr(at, size)).value_or(0);
  };
  std::tm time{};
  time.tm_year = part(0, 4) - 1900;
  time.tm_mon = part(5, 2) - 1;
  time.tm_mday = part(8, 2);
  time.tm_hour = part(11, 2);
  time.tm_min = part(14, 2);
  time.tm_sec = part(17, 2);
  time.tm_isdst = -1;
  return std::max<std::int64_t>(0, std::mktime(&time));
}

}  // namespace longship::batch
