// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <set>

#include "base/error.h"
#include "grid.h"
#include "turns.h"
#include "warm_start.h"

namespace longship::sweep {
namespace {

constexpr int most_rejections = 10'000;  // in a row

// The space of the trials that are there and that of the file have to be comparable.
void compare_files(const study::Study& study, const StudyFile& file, std::vector<std::string>& remarks) {
  const auto* before = find_remark(study.history().attributes(), remark::file);
  if (before == nullptr) return;
  const auto old = study_from_json(*before, "the study's journal", file.directory);
  std::string forbidden;
  for (const auto& [sentence, is_forbidden] : differences(old.space, file.space)) {
    remarks.push_back("the space changed: " + sentence);
    if (is_forbidden) forbidden += (forbidden.empty() ? "" : "; ") + sentence;
  }
  if (!forbidden.empty())
    throw Error(
        Failure::usage,
        "the study {} was made for another space: {}. Give it another name; begin = \"{}\" takes over "
        "the trials that fit",
        file.name, forbidden, "studies/" + file.name);
}

void note_file(study::Study& study, const StudyFile& file) {
  const auto json = formats::dump_json(file.document);
  const auto* before = find_remark(study.history().attributes(), remark::file);
  if (before != nullptr && *before == json) return;
  study.note({true, remark::file, json});
  study.note({true, remark::directory, formats::json_text(file.directory.string())});
}

std::map<std::string, std::string> wishes_of(const formats::Table& values, const Space& space,
                                             const std::string& mark) {
  std::map<std::string, std::string> wishes = {{remark::mark, formats::json_text(mark)}};
  for (const auto& entry : values)
    if (space.find(entry.key) != nullptr) wishes[entry.key] = formats::dump_json(entry.value);
  return wishes;
}

// Those that are there already are known by their mark.
std::uint64_t enqueue_points(study::Study& study, const StudyFile& file) {
  std::set<std::string> there;
  for (const auto& trial : study.history().trials())
    if (const auto mark = trial.wishes.find(remark::mark); mark != trial.wishes.end())
      there.insert(mark->second);
  const auto enqueue = [&](const std::vector<formats::Table>& points, std::string_view kind) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto wishes = wishes_of(points[i], file.space, fmt::format("{} {}", kind, i + 1));
      if (!there.contains(wishes.at(remark::mark))) study.enqueue(std::move(wishes));
    }
    return points.size();
  };
  if (file.population.size > 0) return 0;  // its first members get them
  auto count = enqueue(file.first, "first");
  if (!is_scan(file)) return count;
  const auto per_axis = study::Options(file.sampler.options).number("points", 10);
  return count + enqueue(grid_points(file.space, static_cast<std::size_t>(per_axis)), "grid");
}

}  // namespace

Prepared prepare(study::Study& study, const StudyFile& file) {
  Prepared prepared;
  compare_files(study, file, prepared.remarks);
  note_file(study, file);
  prepared.ids = declare(study, file.space);
  study.use(make_sampler(file));
  study.use(make_pruner(file));
  if (!file.begin.empty())
    if (const auto count = take_trials_from(file.begin, study, file); count > 0)
      prepared.remarks.push_back(fmt::format("{} trials were taken from {}", count, file.begin.string()));
  prepared.points = enqueue_points(study, file);
  return prepared;
}

bool is_scan(const StudyFile& file) {
  return file.sampler.name == "grid";
}

std::optional<Drawn> draw_next(study::Study& study, const StudyFile& file,
                               const std::vector<study::ParameterId>& ids, double now,
                               const std::map<std::string, std::string>& wishes) {
  for (int rejections = 0; rejections < most_rejections; ++rejections) {
    if (is_scan(file) && !study.history().first_waiting()) return {};
    auto wanted = wishes;
    if (file.population.size > 0) {
      study.refresh();
      auto turn = next_turn(study.history(), file);
      if (!turn) return {};
      wanted = std::move(*turn);
    }
    Drawn drawn{study.ask(now, wanted), {}};
    drawn.values = draw(study, drawn.trial, file.space, ids);
    const auto* rule = broken_rule(file.space, drawn.values);
    if (rule == nullptr) return drawn;
    reject(study, drawn.trial, *rule, now);
  }
  throw Error(
      "{} times in a row the values broke a rule of the study: are the rules {} possible in this space?",
      most_rejections, file.space.rules.front().text());
}

void reject(study::Study& study, study::TrialNumber trial, const Expression& rule, double now) {
  study.note(trial, {true, remark::rejected, formats::json_text(rule.text())});
  study.constrain(trial, {1});
  study.tell(trial, study::TrialState::pruned, {}, now);
}

const std::string* find_remark(const std::vector<study::Attribute>& attributes, std::string_view key) {
  for (const auto& attribute : attributes)
    if (attribute.system && attribute.key == key) return &attribute.json;
  return nullptr;
}

std::string remark_text(const std::vector<study::Attribute>& attributes, std::string_view key) {
  const auto* json = find_remark(attributes, key);
  if (json == nullptr) return {};
  const auto list = formats::parse_json("[" + *json + "]", "a remark");
  return plain_text(list.array().front());
}

}  // namespace longship::sweep
