// SPDX-License-Identifier: Apache-2.0
// The samplers by their names.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "sampler.h"
#include "simple_samplers.h"
#include "tpe.h"

namespace longship::study {
namespace {

std::size_t whole(const Options& options, const std::string& name, double otherwise, double least) {
  const double value = options.number(name, otherwise);
  if (!(value >= least && value <= 1e9))
    throw Error(Failure::usage, "{} has to be {} or more, not {}", name, least, value);
  return static_cast<std::size_t>(value);
}

std::unique_ptr<Sampler> make_random(std::uint64_t seed, const Options&) {
  return std::make_unique<RandomSampler>(seed);
}

std::unique_ptr<Sampler> make_sobol(std::uint64_t seed, const Options&) {
  return std::make_unique<SobolSampler>(seed);
}

std::unique_ptr<Sampler> make_grid(std::uint64_t, const Options& options) {
  return std::make_unique<GridSampler>(whole(options, "points", 10, 1));
}

std::unique_ptr<Sampler> make_tpe(std::uint64_t seed, const Options& options) {
  TpeSettings settings;
  settings.startup = whole(options, "startup", 10, 1);
  settings.candidates = whole(options, "candidates", 24, 1);
  if (const double together = options.number("multivariate", -1); together >= 0)
    settings.together = together > 0;
  settings.avoid_running = options.yes("liar", true);
  return std::make_unique<TpeSampler>(seed, settings);
}

using Make = std::unique_ptr<Sampler> (*)(std::uint64_t, const Options&);
constexpr std::array<std::pair<std::string_view, Make>, 4> makers{{
    {"random", make_random},
    {"sobol", make_sobol},
    {"grid", make_grid},
    {"tpe", make_tpe},
}};

}  // namespace

std::unique_ptr<Sampler> make_sampler(std::string_view name, std::uint64_t seed, const Options& options) {
  for (const auto& [known, make] : makers) {
    if (known != name) continue;
    auto sampler = make(seed, options);
    options.check_all_known(fmt::format("the sampler {}", name));
    return sampler;
  }
  std::vector<std::string> names;
  for (const auto& [known, _] : makers) names.emplace_back(known);
  throw Error(Failure::usage, "there is no sampler \"{}\"{}", name, suggestion(name, names));
}

}  // namespace longship::study
