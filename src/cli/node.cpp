// SPDX-License-Identifier: Apache-2.0
// libexec/longship/longship-node: box and launch, which start thousands of times on compute nodes. Static:
// one file to load, and it runs in any image that it is let into.
#include <cstring>
#include <exception>

#include "box/keeper_program.h"
#include "command.h"

namespace {

// What bin/longship starts for the first box of an image.
int keep_image(char** words, int count) {
  try {
    longship::box::keep_as_told({words, words + count});
    return 0;
  } catch (const std::exception&) {
    return 1;  // whoever waits sees the socket close
  }
}

}  // namespace

int main(int count, char** words) {
  using namespace longship::cli;
  if (count > 1 && std::strcmp(words[1], longship::box::keeper_word) == 0)
    return keep_image(words + 2, count - 2);
  Command app("longship", "Longship");
  Context context;
  add_box(app, context);
  add_launch(app, context);
  return run_app(app, context, count, words);
}
