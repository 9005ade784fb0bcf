// SPDX-License-Identifier: Apache-2.0
#include "study_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/fields.h"
#include "job/names.h"
#include "read_space.h"

namespace longship::sweep {
namespace {

namespace fs = std::filesystem;
using formats::Fields;
using formats::Kind;

constexpr formats::Limits limits{.bytes = std::size_t{1} << 20, .depth = 16};

// An older program must say that it is older, before it calls the newer file's keys unknown.
void check_version(const formats::Value& document) {
  const Fields fields(document, "");
  if (!fields.has("version")) return;
  if (const auto version = fields.integer("version"); version != study_file_version)
    throw fields.wrong("version", "expected {}, found {}: this Longship knows no other", study_file_version,
                       version);
}

Objective read_objective(const Fields& fields) {
  Objective objective;
  objective.metric = fields.text("metric", "value");
  objective.maximise = fields.choice<bool>("direction", {{"minimize", false}, {"maximize", true}}, false);
  objective.file = fields.text("file", "");
  if (objective.metric.empty()) throw fields.wrong("metric", "expected the name of what is measured");
  if (objective.file.empty()) return objective;
  if (const auto complaint = job::output_complaint(objective.file); complaint)
    throw fields.wrong("file", "{}", *complaint);
  return objective;
}

std::vector<Objective> read_objectives(const Fields& study) {
  std::vector<Objective> objectives;
  const auto* value = study.find("objective");
  if (value != nullptr && value->is(Kind::array)) {
    for (const auto& fields : study.tables("objective", {"metric", "direction", "file"}))
      objectives.push_back(read_objective(fields));
  } else if (const auto fields = study.table("objective", {"metric", "direction", "file"})) {
    objectives.push_back(read_objective(*fields));
  }
  if (objectives.empty()) {
    study.required("objective");
    throw study.wrong("objective", "expected at least one");
  }
  return objectives;
}

// sampler = "tpe", or [sampler] with a name and options, which are numbers.
Chosen read_chosen(const Fields& study, std::string_view key, Chosen otherwise) {
  const auto* value = study.find(key);
  if (value == nullptr) return otherwise;
  if (!value->is(Kind::table)) return {study.text(key), ""};
  const Fields fields(*value, std::string(key));
  Chosen chosen{fields.text("name"), ""};
  for (const auto& [name, option, place] : fields.entries()) {
    if (name == "name") continue;
    const double number = option.is(Kind::flag) ? (option.flag() ? 1 : 0) : fields.number(name);
    chosen.options += fmt::format("{}{}={}", chosen.options.empty() ? "" : ",", name, number);
  }
  return chosen;
}

// Made once for the sake of what is wrong with it.
template <class Make>
void try_out(const Fields& study, std::string_view key, Make make) {
  try {
    (void)make();
  } catch (const Error& error) {
    throw study.wrong(key, "{}", error.what());
  }
}

Budget read_budget(const Fields& study) {
  Budget budget;
  const auto fields = study.table("budget", {"trials", "node_hours", "time"});
  if (!fields) return budget;
  budget.trials = static_cast<std::uint64_t>(fields->integer("trials", {1, 100'000'000}, 0));
  budget.node_hours = fields->number("node_hours", 0);
  if (fields->has("node_hours") && !(budget.node_hours > 0 && budget.node_hours < 1e12))
    throw fields->wrong("node_hours", "expected a number above 0");
  budget.time = fields->duration("time", {"1s", "3650d"}).value_or(std::chrono::seconds(0));
  return budget;
}

Population read_population(const Fields& study, const StudyFile& file) {
  Population population;
  const auto fields = study.table("population", {"size", "share", "distance", "anew"});
  if (!fields) return population;
  population.size = static_cast<std::size_t>(fields->integer("size", {2, 100'000}));
  population.share = fields->number("share", population.share);
  population.distance = fields->number("distance", population.distance);
  population.anew = fields->number("anew", population.anew);
  if (!(population.share > 0 && population.share <= 0.5))
    throw fields->wrong("share", "expected a number above 0 and at most 0.5");
  if (population.share * static_cast<double>(population.size) < 1)
    throw fields->wrong("share", "of {} members that is less than one: nobody would ever learn from another",
                        population.size);
  if (!(population.distance > 0 && population.distance <= 1))
    throw fields->wrong("distance", "expected a number above 0 and at most 1");
  if (!(population.anew >= 0 && population.anew <= 1))
    throw fields->wrong("anew", "expected a number from 0 to 1");
  if (file.objectives.size() > 1)
    throw study.wrong("population", "with several objectives nobody can say which member is the worst");
  if (!file.pruner.name.empty())
    throw study.wrong("population", "the worst members take over from the best: there is nothing to prune");
  if (file.sampler.name == "grid")
    throw study.wrong("population", "a scan has its points, and a population moves them: have one of both");
  return population;
}

void read_work(const Fields& fields, StudyFile& study, bool look) {
  if (fields.has("job") == fields.has("command"))
    throw fields.wrong(fields.has("job") ? "command" : "job",
                       "a study has either a job, job = \"job.toml\", or a command that runs here");
  study.values_file = fields.text("values_file", "");
  if (!study.values_file.empty())
    if (const auto complaint = job::output_complaint(study.values_file); complaint)
      throw fields.wrong("values_file", "{}", *complaint);
  if (fields.has("command")) {
    study.command = fields.words("command");
    if (study.command.empty() || study.command.front().empty())
      throw fields.wrong("command", "expected a program and its arguments");
    return;
  }
  study.job = study.directory / fields.text("job");
  if (look && !fs::exists(study.job))
    throw fields.wrong("job", "there is no job file {}", printable(study.job.string()));
}

StudyFile read(formats::Value document, const fs::path& directory, bool look) {
  check_version(document);
  const Fields fields(
      document, "",
      {"version", "name", "job", "command", "values_file", "objective", "sampler", "pruner", "population",
       "seed", "budget", "parallel", "retries", "begin", "first", "space", "rules"});
  fields.required("version");
  StudyFile study;
  study.directory = directory;
  study.name = fields.text("name");
  if (const auto complaint = job::job_name_complaint(study.name); complaint)
    throw fields.wrong("name", "{}", *complaint);
  read_work(fields, study, look);
  study.objectives = read_objectives(fields);
  study.sampler = read_chosen(fields, "sampler", study.sampler);
  study.pruner = read_chosen(fields, "pruner", {});
  study.seed = static_cast<std::uint64_t>(fields.integer("seed", {0, std::int64_t{1} << 53}, 0));
  try_out(fields, "sampler", [&] { return make_sampler(study); });
  try_out(fields, "pruner", [&] { return make_pruner(study); });
  if (!study.pruner.name.empty() && study.objectives.size() > 1)
    throw fields.wrong("pruner", "with several objectives nobody can say early which trial is hopeless");
  study.population = read_population(fields, study);
  study.budget = read_budget(fields);
  study.parallel = static_cast<int>(fields.integer("parallel", {1, 100'000}, 1));
  study.retries = static_cast<int>(fields.integer("retries", {0, 1'000}, 1));
  if (fields.has("begin")) study.begin = study.directory / fields.text("begin");
  study.space = read_space(fields);
  if (const auto* first = fields.find("first"))
    for (std::size_t i = 0; i < first->array().size(); ++i)
      study.first.push_back(read_point(first->array()[i], study.space, fmt::format("first[{}]", i + 1)));
  study.document = std::move(document);
  return study;
}

}  // namespace

StudyFile load_study_file(const fs::path& file) {
  const bool in_directory = fs::is_directory(file);
  const auto path = in_directory ? file / "study.toml" : file;
  if (!fs::exists(path))
    throw Error(Failure::usage, "there is no study file {}{}", printable(path.string()),
                in_directory ? "" : ": name one, or a directory with a study.toml");
  return parse_study_file(read_file(path, limits.bytes), path.string(), fs::absolute(path).parent_path());
}

StudyFile parse_study_file(std::string_view text, std::string_view origin, const fs::path& directory) {
  return read(formats::parse_toml(text, origin, limits), directory, true);
}

StudyFile study_from_json(std::string_view json, std::string_view origin, const fs::path& directory) {
  return read(formats::parse_json(json, origin, limits), directory, false);
}

std::vector<std::uint8_t> directions(const StudyFile& file) {
  std::vector<std::uint8_t> maximise;
  for (const auto& objective : file.objectives) maximise.push_back(objective.maximise ? 1 : 0);
  return maximise;
}

std::unique_ptr<study::Sampler> make_sampler(const StudyFile& file) {
  return study::make_sampler(file.sampler.name, file.seed, study::Options(file.sampler.options));
}

std::unique_ptr<study::Pruner> make_pruner(const StudyFile& file) {
  if (file.pruner.name.empty()) return nullptr;
  return study::make_pruner(file.pruner.name, study::Options(file.pruner.options));
}

}  // namespace longship::sweep
