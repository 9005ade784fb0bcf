// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace longship::study {

Options::Options(std::string_view text) {
  if (text.empty()) return;
  for (const auto word : split(text, ',')) {
    const auto equals = word.find('=');
    const std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || std::isnan(number))
      throw Error(Failure::usage, "\"{}\" is no option: it looks like name=number", word);
    values_[std::string(word.substr(0, equals))] = number;
  }
}

double Options::number(const std::string& name, double otherwise) const {
  asked_[name] = true;
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

bool Options::yes(const std::string& name, bool otherwise) const {
  return number(name, otherwise ? 1 : 0) != 0;
}

void Options::check_all_known(std::string_view whose) const {
  std::vector<std::string> known;
  for (const auto& [name, _] : asked_) known.push_back(name);
  for (const auto& [name, _] : values_)
    if (!asked_.contains(name))
      throw Error(Failure::usage, "{} has no option \"{}\"{}", whose, name, suggestion(name, known));
}

}  // namespace longship::study
