// SPDX-License-Identifier: Apache-2.0
#include "base/say.h"
#include "command.h"

namespace longship::cli {

void add_global_options(Command& app, Context& context) {
  app.flag("--json", context.json, "Results as JSON on stdout, for scripts");
  app.flag(
      "-v,--verbose", [] { set_verbosity(Verbosity::verbose); }, "Say which way is taken, and why");
  app.flag(
      "-q,--quiet", [] { set_verbosity(Verbosity::quiet); }, "Only results and errors");
  for (auto& command : app.commands) add_global_options(command, context);
}

}  // namespace longship::cli
