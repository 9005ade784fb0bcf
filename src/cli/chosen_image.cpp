// SPDX-License-Identifier: Apache-2.0
#include "chosen_image.h"

#include <cstdlib>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "store/store.h"

namespace longship::cli {
namespace fs = std::filesystem;

ChosenImage choose_image(const std::string& word) {
  if (is_path(word)) {
    std::error_code problem;
    const bool is_there = fs::exists(word, problem);
    if (problem) throw Error::from_errno(problem.value(), "cannot look at {}", printable(word));
    if (!is_there) throw Error("there is no image {}: no such file or directory", printable(word));
    return {fs::absolute(word).lexically_normal(), {}, {}};
  }
  const store::Store store;
  const auto image = store.find(word);
  return {store.root_of(image), image.config, image.facts};
}

box::Bind parse_bind(const std::string& word) {
  const auto parts = split(word, ':');
  const bool option_is_known = parts.size() < 3 || parts[2] == "ro" || parts[2] == "rw";
  if (parts.size() > 3 || parts[0].empty() || !option_is_known)
    throw Error(Failure::usage, "--bind {}: not FROM, FROM:TO or FROM:TO:ro", printable(word));
  box::Bind bind;
  bind.from = fs::absolute(parts[0]);
  bind.to = parts.size() > 1 && !parts[1].empty() ? fs::path(parts[1]) : bind.from;
  if (!bind.to.is_absolute())
    throw Error(Failure::usage, "--bind {}: the place in the box begins with /", printable(word));
  bind.read_only = parts.size() == 3 && parts[2] == "ro";
  return bind;
}

std::pair<std::string, std::string> parse_variable(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == 0 || word.empty()) throw Error(Failure::usage, "--env {}: not NAME=VALUE", printable(word));
  if (equals != std::string::npos) return {word.substr(0, equals), word.substr(equals + 1)};
  const char* value = std::getenv(word.c_str());
  return {word, value != nullptr ? value : ""};
}

}  // namespace longship::cli
