// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "longship_study.h"
#include "study/describe.h"
#include "study/importance.h"
#include "study/pareto.h"
#include "study/study.h"

struct longship_study {
  std::mutex mutex;
  std::unique_ptr<longship::study::Study> study;
};

namespace {

namespace search = longship::study;
using longship::Error;
using longship::Failure;

thread_local std::string study_error;
thread_local std::string answer;

// Nothing leaves the library but a code.
template <class Code, class Work>
Code caught(Code failed, Code usage, Work work) noexcept {
  try {
    return work();
  } catch (const Error& error) {
    study_error = error.what();
    return error.failure() == Failure::usage ? usage : failed;
  } catch (const std::exception& error) {
    study_error = error.what();
  } catch (...) {
    study_error = "an unknown error";
  }
  return failed;
}

template <class Work>
auto with(longship_study* handle, Work work) noexcept {
  using Code = decltype(work(*handle->study));
  if constexpr (std::is_same_v<Code, const char*>) {
    return caught<const char*>(nullptr, nullptr, [&] {
      const std::lock_guard lock(handle->mutex);
      return work(*handle->study);
    });
  } else {
    return caught<Code>(LONGSHIP_FAILED, LONGSHIP_USAGE, [&] {
      const std::lock_guard lock(handle->mutex);
      return work(*handle->study);
    });
  }
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

longship_study* wrapped(std::unique_ptr<search::Study> study) {
  auto handle = std::make_unique<longship_study>();
  handle->study = std::move(study);
  return handle.release();
}

search::ParameterId known(const search::Study& study, std::uint64_t parameter) {
  if (parameter >= study.history().parameter_count())
    throw Error(Failure::usage, "there is no parameter {}", parameter);
  return static_cast<search::ParameterId>(parameter);
}

search::TrialState state_of(int number) {
  if (number < 1 || number > 3) throw Error(Failure::usage, "{}: there is no such state", number);
  return static_cast<search::TrialState>(number);
}

template <class List, class Describe>
const char* as_list(const List& list, Describe describe) {
  answer = "[";
  for (const auto& member : list) {
    if (answer.size() > 1) answer += ',';
    describe(member);
  }
  answer += ']';
  return answer.c_str();
}

}  // namespace

const char* longship_study_error(void) {
  return study_error.c_str();
}

longship_study* longship_study_open(const char* directory, const char* name, const uint8_t* maximise,
                                    size_t objectives) {
  return caught<longship_study*>(nullptr, nullptr, [&] {
    std::vector<std::uint8_t> directions(maximise, maximise + objectives);
    return wrapped(directory == nullptr
                       ? std::make_unique<search::Study>(std::move(directions))
                       : std::make_unique<search::Study>(directory, name, std::move(directions)));
  });
}

longship_study* longship_study_load(const char* directory) {
  return caught<longship_study*>(nullptr, nullptr, [&] {
    auto study = search::Study::load(directory);
    if (!study) throw Error(Failure::usage, "there is no study in {}", directory);
    return wrapped(std::move(study));
  });
}

void longship_study_close(longship_study* study) {
  delete study;
}

int longship_study_sampler(longship_study* handle, const char* name, uint64_t seed, const char* options) {
  return with(handle, [&](search::Study& study) {
    study.use(search::make_sampler(name, seed, search::Options(options)));
    return 0;
  });
}

int longship_study_pruner(longship_study* handle, const char* name, const char* options) {
  return with(handle, [&](search::Study& study) {
    study.use(*name == '\0' ? nullptr : search::make_pruner(name, search::Options(options)));
    return 0;
  });
}

int64_t longship_study_parameter(longship_study* handle, const char* name, int kind, double low, double high,
                                 double step, int logarithmic, const char* const* choices, size_t count) {
  return with(handle, [&](search::Study& study) -> int64_t {
    if (kind < 0 || kind > 2) throw Error(Failure::usage, "{}: there is no such kind of parameter", kind);
    if (kind == 2) return study.parameter(name, search::category({choices, choices + count}));
    return study.parameter(name, {static_cast<search::Kind>(kind), low, high, step, logarithmic != 0, {}});
  });
}

int longship_study_declare(longship_study* handle, const uint32_t* parameters, size_t count) {
  return with(handle, [&](search::Study& study) {
    for (size_t i = 0; i < count; ++i) (void)known(study, parameters[i]);
    study.declare({parameters, parameters + count});
    return 0;
  });
}

int64_t longship_study_ask(longship_study* handle) {
  return with(handle, [](search::Study& study) { return static_cast<int64_t>(study.ask(now())); });
}

int longship_study_suggest(longship_study* handle, uint64_t trial, uint32_t parameter, double* value) {
  return longship_study_suggest_all(handle, trial, &parameter, 1, value);
}

int longship_study_suggest_all(longship_study* handle, uint64_t trial, const uint32_t* parameters,
                               size_t count, double* values) {
  return with(handle, [&](search::Study& study) {
    for (size_t i = 0; i < count; ++i) values[i] = study.suggest(trial, known(study, parameters[i]));
    return 0;
  });
}

int longship_study_report(longship_study* handle, uint64_t trial, int64_t step, double value) {
  return with(handle, [&](search::Study& study) {
    study.report(trial, step, value);
    return 0;
  });
}

int longship_study_should_prune(longship_study* handle, uint64_t trial) {
  return with(handle, [&](search::Study& study) { return study.should_prune(trial) ? 1 : 0; });
}

int longship_study_constrain(longship_study* handle, uint64_t trial, const double* values, size_t count) {
  return with(handle, [&](search::Study& study) {
    study.constrain(trial, {values, values + count});
    return 0;
  });
}

int longship_study_note(longship_study* handle, int64_t trial, int system, const char* key,
                        const char* json) {
  return with(handle, [&](search::Study& study) {
    if (trial < 0)
      study.note({system != 0, key, json});
    else
      study.note(static_cast<search::TrialNumber>(trial), {system != 0, key, json});
    return 0;
  });
}

int longship_study_tell(longship_study* handle, uint64_t trial, int state, const double* values,
                        size_t count) {
  return longship_study_tell_at(handle, trial, state, values, count, now());
}

int longship_study_tell_at(longship_study* handle, uint64_t trial, int state, const double* values,
                           size_t count, double ended) {
  return with(handle, [&](search::Study& study) {
    study.tell(trial, state_of(state), {values, values + count}, ended);
    return 0;
  });
}

int64_t longship_study_enqueue(longship_study* handle, const char* const* names, const char* const* values,
                               size_t count) {
  return with(handle, [&](search::Study& study) {
    std::map<std::string, std::string> wishes;
    for (size_t i = 0; i < count; ++i) wishes.emplace(names[i], values[i]);
    return static_cast<int64_t>(study.enqueue(std::move(wishes)));
  });
}

int64_t longship_study_add(longship_study* handle, const uint32_t* parameters, const double* points,
                           size_t count, const int64_t* steps, const double* reports, size_t reported,
                           double begun) {
  return with(handle, [&](search::Study& study) {
    search::Trial trial;
    trial.begun = begun;
    for (size_t i = 0; i < count; ++i) trial.point.push_back({known(study, parameters[i]), points[i]});
    for (size_t i = 0; i < reported; ++i) trial.reports.emplace(steps[i], reports[i]);
    return static_cast<int64_t>(study.add(std::move(trial)));
  });
}

int longship_study_refresh(longship_study* handle) {
  return with(handle, [](search::Study& study) {
    study.refresh();
    return 0;
  });
}

int64_t longship_study_changes(longship_study* handle) {
  return with(handle, [](search::Study& study) {
    return static_cast<int64_t>(study.history().changes_from(0).size());
  });
}

const char* longship_study_changed(longship_study* handle, uint64_t from) {
  return with(handle, [&](search::Study& study) -> const char* {
    const auto changes = study.history().changes_from(from);
    const std::set<std::uint32_t> indices(changes.begin(), changes.end());
    return as_list(indices,
                   [&](std::uint32_t index) { search::describe(study.history().trials()[index], answer); });
  });
}

const char* longship_study_trial(longship_study* handle, uint64_t trial) {
  return with(handle, [&](search::Study& study) -> const char* {
    answer.clear();
    search::describe(study.history().trial(trial), answer);
    return answer.c_str();
  });
}

const char* longship_study_parameters(longship_study* handle, uint64_t from) {
  return with(handle, [&](search::Study& study) -> const char* {
    std::vector<search::ParameterId> ids;
    for (auto id = from; id < study.history().parameter_count(); ++id)
      ids.push_back(static_cast<search::ParameterId>(id));
    return as_list(ids, [&](auto id) { search::describe(study.history().parameter(id), answer); });
  });
}

const char* longship_study_about(longship_study* handle) {
  return with(handle, [](search::Study& study) -> const char* {
    const auto& history = study.history();
    (void)as_list(history.maximise(), [](std::uint8_t one) { answer += one ? '1' : '0'; });
    answer = R"({"maximise":)" + answer + R"(,"user":)";
    search::describe(history.attributes(), false, answer);
    answer += R"(,"system":)";
    search::describe(history.attributes(), true, answer);
    answer += '}';
    return answer.c_str();
  });
}

const char* longship_study_best(longship_study* handle) {
  return with(handle, [](search::Study& study) -> const char* {
    return as_list(search::best_trials(study.history()),
                   [](auto number) { answer += std::to_string(number); });
  });
}

const char* longship_study_importance(longship_study* handle, size_t objective) {
  return with(handle, [&](search::Study& study) -> const char* {
    if (objective >= study.history().objectives())
      throw Error(Failure::usage, "the study has no objective {}", objective);
    return as_list(search::importance(study.history(), objective),
                   [](const auto& share) { search::describe(share, answer); });
  });
}
