// SPDX-License-Identifier: Apache-2.0
#include "journal_at_hub.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "hub/study_journals.h"
#include "net/address.h"
#include "study/journal.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t piece = std::uint64_t{4} << 20;  // the hub takes and gives 8 MiB

std::string journal_path(const std::string& owner, const std::string& study, const std::string& rest = {}) {
  return fmt::format("/v1/studies/{}/{}/journal{}", net::percent_encode(owner), net::percent_encode(study),
                     rest);
}

// "3" for the first segment of writer 3, "3.1" for the next.
std::string name_at_hub(std::uint32_t writer, std::uint32_t segment) {
  return segment == 0 ? fmt::format("{}", writer) : fmt::format("{}.{}", writer, segment);
}

fs::path file_here(const fs::path& directory, const std::string& name_at_hub) {
  const auto dot = name_at_hub.find('.');
  const auto writer = directory / ("writer-" + name_at_hub.substr(0, dot));
  return writer / (dot == std::string::npos ? "log" : "log" + name_at_hub.substr(dot));
}

std::map<std::string, std::uint64_t> logs_at_hub(HubClient& hub, const std::string& owner,
                                                 const std::string& study) {
  std::map<std::string, std::uint64_t> sizes;
  if (hub.call({.path = journal_path(owner, study)}).status == 404) return sizes;
  const auto answer = hub.get(journal_path(owner, study));
  if (const auto* logs = answer.find("logs"); logs != nullptr)
    for (const auto& [name, bytes, place] : logs->table()) {
      if (!hub::is_journal_log(name))  // a hub does not choose which files are written here
        throw Error("the hub names \"{}\" as a log of the study, which it cannot be: nothing was written",
                    printable(name));
      sizes[name] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes.integer()));
    }
  return sizes;
}

void append(const fs::path& file, std::string_view bytes) {
  fs::create_directories(file.parent_path());
  const Fd log = open_file(file, O_WRONLY | O_CREAT | O_APPEND);
  write_all(log.get(), bytes);
  if (::fdatasync(log.get()) != 0) throw Error::from_errno(errno, "cannot write {}", file.string());
}

void fetch_log(HubClient& hub, const std::string& path, std::uint64_t size, const fs::path& file) {
  if (size_if_there(file) > size)
    throw Error("{} says more than the hub has, which never came to anything: move the directory away first",
                file.string());
  for (std::uint64_t at = 0; at < size;) {
    const auto bytes = hub.checked({.path = fmt::format("{}?from={}", path, at)}).body;
    if (bytes.empty()) throw Error("the hub gave nothing after byte {} of {}", at, path);
    const auto here = size_if_there(file);
    const auto known = here > at ? std::min<std::uint64_t>(here - at, bytes.size()) : 0;
    if (known > 0 && read_part(file, at, known) != bytes.substr(0, known))
      throw Error("{} says something else than at the hub: it belongs to another study", file.string());
    if (known < bytes.size()) append(file, std::string_view(bytes).substr(known));
    at += bytes.size();
  }
}

}  // namespace

JournalAtHub::JournalAtHub(HubClient& hub, fs::path directory, std::string study)
    : hub_(hub), directory_(std::move(directory)), study_(std::move(study)) {
  std::random_device random;
  run_ = fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

void JournalAtHub::take_over() {
  for (const auto& [name, bytes] : logs_at_hub(hub_, "-", study_))
    if (size_if_there(file_here(directory_, name)) < bytes)
      throw Error(Failure::usage,
                  "the study {} went on elsewhere: move {} away and `longship study fetch {}` brings it "
                  "here, or give "
                  "this one another name",
                  study_, directory_.string(), study_);
  hub_.post(fmt::format("/v1/studies/{}/run?run={}", net::percent_encode(study_), run_));
  send();
}

void JournalAtHub::send() {
  for (std::uint32_t writer = 0;; ++writer) {
    const auto log = directory_ / fmt::format("writer-{}", writer) / "log";
    std::error_code missing;
    if (!fs::exists(log.parent_path(), missing)) return;
    const auto found = logs_.try_emplace(writer, Log{RecordLogReader(log)}).first;
    send_log(writer, found->second);
  }
}

// Whole records only: what a full disk left of one is cut off again by its writer.
void JournalAtHub::send_log(std::uint32_t writer, Log& log) {
  while (log.reader.next()) {
  }
  const auto [segment, end] = log.reader.position();
  const auto path = directory_ / fmt::format("writer-{}", writer) / "log";
  while (log.segment < segment) {  // complete: the writer has begun the next
    const auto whole = record_log_segment(path, log.segment);
    send_part(name_at_hub(writer, log.segment), whole, log, size_if_there(whole));
    ++log.segment;
    log.sent = 0;
  }
  send_part(name_at_hub(writer, segment), record_log_segment(path, segment), log, end);
}

void JournalAtHub::send_part(const std::string& name, const fs::path& segment, Log& log, std::uint64_t end) {
  while (log.sent < end) {
    const auto bytes = read_part(segment, log.sent, std::min(piece, end - log.sent));
    if (bytes.empty()) return;
    hub_.checked({.method = "PUT",
                  .path = fmt::format("/v1/studies/{}/journal/{}?at={}&run={}", net::percent_encode(study_),
                                      name, log.sent, run_),
                  .body = bytes});
    log.sent += bytes.size();
  }
}

void fetch_journal(HubClient& hub, const std::string& owner, const std::string& study,
                   const fs::path& directory) {
  const auto logs = logs_at_hub(hub, owner, study);
  if (logs.empty())
    throw Error(Failure::usage,
                "the hub has no journal of a study {}: `longship study run --submit` brings it there", study);
  for (const auto& [name, bytes] : logs)
    fetch_log(hub, journal_path(owner, study, "/" + name), bytes, file_here(directory, name));
  study::Journal(directory).claim_known();
}

}  // namespace longship::cli
