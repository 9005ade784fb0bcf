// SPDX-License-Identifier: Apache-2.0
// libexec/longship/longship-node: box and launch, which start thousands of times on compute nodes. Static:
// one file to load, and it runs in any image that it is let into.
#include "command.h"

int main(int count, char** words) {
  using namespace longship::cli;
  Command app("longship", "Longship");
  Context context;
  add_box(app, context);
  add_launch(app, context);
  return run_app(app, context, count, words);
}
