// SPDX-License-Identifier: Apache-2.0
#include "study_journals.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/file.h"
#include "base/text.h"
#include "formats/digest.h"
#include "job/names.h"

namespace longship::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_run = 100;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check_log_name(const std::string& name) {
  if (!is_journal_log(name))
    throw Error("{} is no log of a journal: expected a writer's number, as in 0 or 0.1", printable(name));
}

void check_run(const std::string& run) {
  if (run.empty() || run.size() > longest_run)
    throw Error("run: expected 1 to {} characters that tell whoever carries the study out from others",
                longest_run);
}

// After an Error the file is as before: a full disk must not leave half a piece, on which the next would not
// fit.
void append_durably(const fs::path& file, std::uint64_t at, std::string_view bytes) {
  const bool is_new = !fs::exists(file);
  const Fd log = open_file(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  try {
    write_all(log.get(), bytes);
    if (::fdatasync(log.get()) != 0) throw Error::from_errno(errno, "cannot write {}", file.string());
  } catch (const Error&) {
    if (::ftruncate(log.get(), static_cast<off_t>(at)) != 0) ::unlink(file.c_str());
    throw;
  }
  if (is_new) sync_directory(file.parent_path());
}

}  // namespace

bool is_journal_log(std::string_view name) {
  const auto dot = name.find('.');
  return is_number(name.substr(0, dot)) && (dot == name.npos || is_number(name.substr(dot + 1)));
}

StudyJournals::StudyJournals(fs::path directory) : directory_(std::move(directory)) {
  fs::create_directories(directory_);
}

fs::path StudyJournals::place_of(const Study& study) const {
  const auto digest = formats::digest_of(study.owner + "\n" + study.name);
  return directory_ / digest.substr(digest.find(':') + 1);
}

void StudyJournals::carry_out(const Study& study, const std::string& run) {
  check_run(run);
  if (const auto complaint = job::job_name_complaint(study.name); complaint)
    throw Error("name: {}", *complaint);
  const std::lock_guard lock(mutex_);
  const auto place = place_of(study);
  fs::create_directories(place);
  write_file(place / "run", run, 0600);
}

std::uint64_t StudyJournals::append(const Study& study, const Piece& piece, std::string_view bytes) {
  check_log_name(piece.log);
  check_run(piece.run);
  const std::lock_guard lock(mutex_);
  const auto place = place_of(study);
  std::error_code missing;
  if (!fs::exists(place / "run", missing) || read_file(place / "run", longest_run) != piece.run)
    throw StudyConflict("the study {} is carried out by another `longship study run` now", study.name);
  const auto file = place / piece.log;
  const auto there = size_if_there(file);
  if (piece.at > there)
    throw StudyConflict("log {} of the study {} has {} bytes here: what follows byte {} does not fit",
                        piece.log, study.name, there, piece.at);
  const auto known = std::min<std::uint64_t>(there - piece.at, bytes.size());
  if (known > 0 && read_part(file, piece.at, known) != bytes.substr(0, known))
    throw StudyConflict("log {} of the study {} says something else here: it was written by another",
                        piece.log, study.name);
  if (piece.at + bytes.size() > largest_log)
    throw Error("log {}: more than {} bytes", piece.log, largest_log);
  if (there == 0 && std::distance(fs::directory_iterator(place), {}) > static_cast<std::ptrdiff_t>(most_logs))
    throw Error("the study {} has {} logs already", study.name, most_logs);
  if (known < bytes.size()) append_durably(file, there, bytes.substr(known));
  return size_if_there(file);
}

std::vector<StudyJournals::Log> StudyJournals::logs(const Study& study) const {
  const std::lock_guard lock(mutex_);
  std::vector<Log> found;
  const auto place = place_of(study);
  std::error_code missing;
  if (!fs::exists(place, missing)) return found;
  for (const auto& entry : fs::directory_iterator(place))
    if (const auto name = entry.path().filename().string(); is_number(name.substr(0, name.find('.'))))
      found.push_back({name, size_if_there(entry.path())});
  std::sort(found.begin(), found.end(), [](const Log& a, const Log& b) { return a.name < b.name; });
  return found;
}

std::string StudyJournals::read(const Study& study, const std::string& log, std::uint64_t from) const {
  check_log_name(log);
  const std::lock_guard lock(mutex_);
  const auto file = place_of(study) / log;
  std::error_code missing;
  if (!fs::exists(file, missing)) throw Error("the study {} has no log {} here", study.name, log);
  const auto size = size_if_there(file);
  if (from >= size) return {};
  return read_part(file, from, static_cast<std::size_t>(std::min<std::uint64_t>(size - from, largest_piece)));
}

}  // namespace longship::hub
