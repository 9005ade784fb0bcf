// SPDX-License-Identifier: Apache-2.0
// A Dockerfile of any bytes is understood, or refused with an Error that names the line; so are its words.
// What follows "\n---\n" is a .dockerignore.
#include "base/error.h"
#include "formats/ignore.h"
#include "fuzz/input.h"
#include "image/dockerfile.h"

namespace {

using namespace longship;

void try_instruction(const image::Instruction& instruction) {
  const image::Variables variables = {{"A", "${A}"}, {"LONG", std::string(100, 'x')}};
  try {
    if (image::is_exec_form(instruction.rest)) static_cast<void>(image::exec_form(instruction.rest));
  } catch (const Error&) {
  }
  try {
    static_cast<void>(image::assignments(instruction.rest, variables));
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto rest = fuzz::text_of(data, size);
  const auto file = fuzz::take_until(rest, "\n---\n");
  try {
    for (const auto& instruction : image::parse_dockerfile(file, "Dockerfile")) try_instruction(instruction);
  } catch (const Error&) {
  }
  formats::IgnoreList ignored;
  ignored.add_lines(rest);
  for (const auto* path : {"a", "a/b/c/d/e/f/a/b/c/d/e/f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
    static_cast<void>(ignored.ignores(path, false));
  return 0;
}
