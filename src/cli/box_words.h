// SPDX-License-Identifier: Apache-2.0
// The words of `longship box`, and the box that they ask for: for the program that starts every box, and for
// the quick one (src/cli/quick), which has no libraries.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "box/box.h"
#include "chosen_image.h"
#include "parse.h"
#include "words.h"

namespace longship::cli {

struct BoxWords {
  std::string image;
  std::vector<std::string> command, binds, environment;
  std::string directory, join, mpi = "image", gpus, disk, entered;
  bool writable = false, private_tmp = false, no_home = false, fake_root = false;
};

Command& declare_box(Command& app, BoxWords& words);

// IMAGE [OPTIONS] [--] PROGRAM…: after the image options may come again; the program's own are not ours.
// False where `parser` has nothing to say: they asked for help.
using Parser = std::optional<Meaning> (*)(const Command& command, std::vector<std::string> words);
[[nodiscard]] bool understand_box(const Command& command, std::vector<std::string> rest, BoxWords& words,
                                  Parser parser);

// What is typed stands for itself: an entry point is for those who start an image without a word.
[[nodiscard]] std::vector<std::string> command_of(const BoxWords& words, const store::Config& config);
[[nodiscard]] box::Spec spec_of(const BoxWords& words, const ChosenImage& image);
[[nodiscard]] Environment chosen_variables(const BoxWords& words);

}  // namespace longship::cli
