// SPDX-License-Identifier: Apache-2.0
#include "study_open.h"

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/number.h"
#include "sweep/prepare.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

bool is_journal(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path / "writer-0", ignored);
}

fs::path directory_of(const StudyWords& words, const sweep::StudyFile& file) {
  return words.into.empty() ? file.directory / "studies" / file.name : fs::absolute(words.into) / file.name;
}

std::optional<sweep::StudyFile> noted_file(const study::Study& study) {
  const auto& remarks = study.history().attributes();
  const auto* json = sweep::find_remark(remarks, sweep::remark::file);
  if (json == nullptr) return {};
  return sweep::study_from_json(*json, "the study's journal",
                                sweep::remark_text(remarks, sweep::remark::directory));
}

// Not an error: what can be read is worth having, and a copy of the log may be elsewhere.
void warn_of_damage(const study::Study& study) {
  for (const auto& [log, offset, records] : study.damage())
    warn("{} is damaged at byte {}: {} after that {} not read, and what {} told is missing here",
         printable(log.string()), offset, counted(static_cast<std::int64_t>(records), "record"),
         records == 1 ? "is" : "are", records == 1 ? "it" : "they");
}

}  // namespace

void add_study_words(Command& command, StudyWords& words) {
  command.argument("STUDY", words.study, "study.toml, or the directory in which the study is kept");
  command.option("--into", words.into, "Where studies are kept (studies/ beside the file)", {.value = "DIR"});
}

OpenStudy open_study(const StudyWords& words) {
  OpenStudy open;
  if (is_journal(words.study)) {
    open.directory = fs::absolute(words.study);
  } else {
    open.file = sweep::load_study_file(words.study);
    open.directory = directory_of(words, *open.file);
  }
  if (fs::exists(open.directory)) open.study = study::Study::load(open.directory);
  if (!open.study)
    throw Error(Failure::usage,
                "{} has not begun: `longship study run {}` or `longship study create {}` begins it",
                printable(words.study), printable(words.study), printable(words.study));
  warn_of_damage(*open.study);
  if (!open.file) open.file = noted_file(*open.study);
  return open;
}

OpenStudy begin_study(const StudyWords& words) {
  if (is_journal(words.study)) return open_study(words);
  OpenStudy open;
  open.file = sweep::load_study_file(words.study);
  open.directory = directory_of(words, *open.file);
  open.study = std::make_unique<study::Study>(open.directory, open.file->name, sweep::directions(*open.file));
  warn_of_damage(*open.study);
  return open;
}

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string values_words(const formats::Table& values) {
  std::string words;
  for (const auto& [name, value, place] : values) {
    const auto text =
        value.is(formats::Kind::number) ? formats::human_value(value.number()) : sweep::plain_text(value);
    words += fmt::format("{}{}={}", words.empty() ? "" : "  ", printable(name), printable(text));
  }
  return words;
}

std::string objectives_words(const std::vector<double>& values) {
  std::string words;
  for (const double value : values)
    words += (words.empty() ? "" : ", ") +
             (std::isfinite(value) ? formats::human_value(value) : fmt::format("{}", value));
  return words;
}

}  // namespace longship::cli
