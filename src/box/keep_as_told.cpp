// SPDX-License-Identifier: Apache-2.0
// The side of keeper_program.h that reads images.
#include <array>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "image_keeper.h"
#include "keeper.h"
#include "keeper_program.h"
#include "squashfs.h"

namespace longship::box {
namespace {

int number_in(const std::string& word) {
  char* end = nullptr;
  const long number = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || number < 0 || number > 1 << 30)
    throw Error(Failure::usage, "{} is for Longship itself", keeper_word);
  return static_cast<int>(number);
}

}  // namespace

void keep_as_told(const std::vector<std::string>& words) {
  if (words.size() != 9) throw Error(Failure::usage, "{} is for Longship itself", keeper_word);
  const std::array descriptors = {number_in(words[2]), number_in(words[3]), number_in(words[4])};
  const Fd image(number_in(words[5]));
  const auto ways = static_cast<unsigned>(number_in(words[6]));
  const std::chrono::milliseconds linger(number_in(words[7]));
  be_keeper();
  Meeting meeting(words[0], words[1], descriptors);
  { const SquashFs readable(image.get(), "image"); }  // who waits sees the socket close, and asks another way
  const Identity identity = identity_of(image.get(), {.kernel = (ways & 1U) != 0, .fuse = (ways & 2U) != 0});
  keep_image(meeting, image.get(), identity, linger, words[8]);
}

}  // namespace longship::box
