// SPDX-License-Identifier: Apache-2.0
// A study as commands name it: its file, or the directory of its journal.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "command.h"
#include "study/study.h"
#include "sweep/study_file.h"

namespace longship::cli {

struct StudyWords {
  std::string study, into;
};
// STUDY and --into
void add_study_words(Command& command, StudyWords& words);

struct OpenStudy {
  std::filesystem::path directory;
  std::unique_ptr<study::Study> study;
  std::optional<sweep::StudyFile> file;  // none: a study that was made from Python
};

// What is there already; an Error if it is none.
[[nodiscard]] OpenStudy open_study(const StudyWords& words);
// Made if it is not there. Only by its file.
[[nodiscard]] OpenStudy begin_study(const StudyWords& words);

// Seconds since 1970.
[[nodiscard]] double time_of_day();
// "lr=0.01  net=small", and "0.98", or "0.98, 12" of several objectives.
[[nodiscard]] std::string values_words(const formats::Table& values);
[[nodiscard]] std::string objectives_words(const std::vector<double>& values);

}  // namespace longship::cli
