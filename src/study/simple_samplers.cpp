// SPDX-License-Identifier: Apache-2.0
#include "simple_samplers.h"

#include "base/random.h"
#include "sobol.h"

namespace longship::study {

double random_value(std::uint64_t seed, TrialNumber number, const Parameter& parameter) {
  return parameter.axis.value(Random({seed, number, hash_of(parameter.name)}).uniform());
}

double even_value(std::uint64_t seed, TrialNumber number, ParameterId id, const Parameter& parameter) {
  return parameter.axis.value(sobol(seed, static_cast<std::uint32_t>(number), id));
}

double RandomSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  return random_value(seed_, number, history.parameter(parameter));
}

double SobolSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  return even_value(seed_, number, parameter, history.parameter(parameter));
}

std::uint64_t GridSampler::points_of(const Domain& domain) const {
  const auto values = count(domain);
  return values > 0 ? values : points_;
}

double GridSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  std::uint64_t place = number;
  for (ParameterId before = 0; before < parameter; ++before)
    place /= points_of(history.parameter(before).domain);
  const auto& [name, domain, axis] = history.parameter(parameter);
  const auto points = points_of(domain);
  place %= points;
  if (count(domain) > 0) return nth(domain, place);
  return axis.value(points == 1 ? 0.5 : static_cast<double>(place) / static_cast<double>(points - 1));
}

}  // namespace longship::study
