// SPDX-License-Identifier: Apache-2.0
// What a user's words mean to the commands that were declared. CLI11 does it, which only parse.cpp sees: each
// file that includes it takes six seconds longer to compile.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "words.h"

namespace longship::cli {

// The words make no sense to a command; people are shown the way to its --help.
class WrongWords : public Error {
 public:
  WrongWords(const Command& command, std::string_view sentence)
      : Error(Failure::usage, "{}", sentence), command_(&command) {}
  [[nodiscard]] const Command& command() const { return *command_; }

 private:
  const Command* command_;
};

struct Meaning {
  const Command* command;         // the one that was named, perhaps below the one asked
  std::vector<std::string> rest;  // for its action_on_rest
};

// Fills the variables of the options, and tells which command is meant without running it. Nothing: --help or
// --version was asked for, and is printed. WrongWords if they make no sense.
[[nodiscard]] std::optional<Meaning> parse(const Command& command, std::vector<std::string> words);

}  // namespace longship::cli
