// SPDX-License-Identifier: Apache-2.0
// A study as its file asks for it: docs/formats/study.md. What is here is valid; the reader named the line of
// what was not.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document.h"
#include "space.h"
#include "study/pruner.h"
#include "study/sampler.h"

namespace longship::sweep {

struct Objective {
  std::string metric = "value";  // as the script reports it
  bool maximise = false;
  std::string file;  // a JSON-lines file among the outputs that has it; empty: what was reported last
};

// A sampler or pruner: its name, and options as study::Options reads them.
struct Chosen {
  std::string name, options;
};

// 0: no limit.
struct Budget {
  std::uint64_t trials = 0;
  double node_hours = 0;
  std::chrono::seconds time{0};
};

// Population-based training; of size 0: none.
struct Population {
  std::size_t size = 0;
  double share = 0.25;    // of the members, the worst, that take over from as many of the best
  double distance = 0.1;  // by how much of its range a value moves then
  double anew = 0.1;      // the chance that it is drawn anew instead
};

struct StudyFile {
  std::string name;
  std::filesystem::path directory;   // of the file
  std::filesystem::path job;         // a job file; empty: the command is run here as it is
  std::vector<std::string> command;  // instead of a job
  std::string values_file;           // written in the trial's working directory; empty: none
  std::vector<Objective> objectives;
  Chosen sampler{"tpe", ""};
  Chosen pruner;  // no name: none
  Population population;
  std::uint64_t seed = 0;
  Budget budget;
  int parallel = 1;
  int retries = 1;                    // of a trial that failed
  std::filesystem::path begin;        // a study whose trials are known from the start; empty: none
  std::vector<formats::Table> first;  // tried first
  Space space;
  formats::Value document;  // as it was written
};

inline constexpr int study_file_version = 1;

// A directory stands for the study.toml in it.
[[nodiscard]] StudyFile load_study_file(const std::filesystem::path& file);
[[nodiscard]] StudyFile parse_study_file(std::string_view text, std::string_view origin,
                                         const std::filesystem::path& directory);
// The same from the JSON that a journal keeps; paths are not looked at.
[[nodiscard]] StudyFile study_from_json(std::string_view json, std::string_view origin,
                                        const std::filesystem::path& directory);

[[nodiscard]] std::vector<std::uint8_t> directions(const StudyFile& file);  // one for each objective
[[nodiscard]] std::unique_ptr<study::Sampler> make_sampler(const StudyFile& file);
[[nodiscard]] std::unique_ptr<study::Pruner> make_pruner(const StudyFile& file);  // null: none

}  // namespace longship::sweep
