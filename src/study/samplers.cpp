// SPDX-License-Identifier: Apache-2.0
// The samplers by their names.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "auto_sampler.h"
#include "base/error.h"
#include "base/text.h"
#include "cma_sampler.h"
#include "gp.h"
#include "nsga.h"
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
  settings.foretell = options.yes("forecast", true);
  settings.sharpness = options.number("sharpness", settings.sharpness);
  settings.even_startup = options.yes("even", true);
  return std::make_unique<TpeSampler>(seed, settings);
}

std::unique_ptr<Sampler> make_gp(std::uint64_t seed, const Options& options) {
  GpSettings settings;
  settings.startup = whole(options, "startup", 10, 1);
  settings.noiseless = options.yes("exact", false);
  return std::make_unique<GpSampler>(seed, settings);
}

std::unique_ptr<Sampler> make_cma(std::uint64_t seed, const Options& options) {
  CmaSettings settings;
  settings.startup = whole(options, "startup", 1, 1);
  settings.population = whole(options, "population", 0, 0);
  settings.deviation = options.number("sigma", settings.deviation);
  settings.restarts = options.yes("restarts", true);
  if (!(settings.deviation > 0))
    throw Error(Failure::usage, "sigma has to be above 0, not {}", settings.deviation);
  return std::make_unique<CmaSampler>(seed, settings);
}

std::unique_ptr<Sampler> make_nsga(std::uint64_t seed, const Options& options) {
  NsgaSettings settings;
  settings.population = whole(options, "population", 50, 2);
  settings.crossover = options.number("crossover", settings.crossover);
  settings.swapping = options.number("swapping", settings.swapping);
  settings.mutation = options.number("mutation", 0);
  return std::make_unique<NsgaSampler>(seed, settings);
}

std::unique_ptr<Sampler> make_auto(std::uint64_t seed, const Options&) {
  return std::make_unique<AutoSampler>(seed);
}

using Make = std::unique_ptr<Sampler> (*)(std::uint64_t, const Options&);
constexpr std::array<std::pair<std::string_view, Make>, 8> makers{{
    {"random", make_random},
    {"sobol", make_sobol},
    {"grid", make_grid},
    {"tpe", make_tpe},
    {"gp", make_gp},
    {"cmaes", make_cma},
    {"nsga2", make_nsga},
    {"auto", make_auto},
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
