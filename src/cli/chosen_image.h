// SPDX-License-Identifier: Apache-2.0
// What a user means by IMAGE: a name in the store, a directory, or a SquashFS file.
#pragma once
#include <filesystem>
#include <string>

#include "box/box.h"
#include "store/image.h"

namespace longship::cli {

struct ChosenImage {
  std::filesystem::path root;
  store::Config config;  // empty for directories and files, which carry none
  store::Facts facts;
};

// A path is one as in a job file: "/x", "./x". An Error that tells what there is, if it is not
// there.
[[nodiscard]] ChosenImage choose_image(const std::string& word);

// "FROM", "FROM:TO" or "FROM:TO:ro", as --bind takes it.
[[nodiscard]] box::Bind parse_bind(const std::string& word);

// "NAME=VALUE", or "NAME" for the caller's own value, as --env takes it.
[[nodiscard]] std::pair<std::string, std::string> parse_variable(const std::string& word);

}  // namespace longship::cli
