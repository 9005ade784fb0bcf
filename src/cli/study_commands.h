// SPDX-License-Identifier: Apache-2.0
// The commands below `longship study`, a file each.
#pragma once
#include "command.h"

namespace longship::cli {

void add_study_ask(Command& study, Context& context);  // create, ask, tell
void add_study_run(Command& study, Context& context);
void add_study_fetch(Command& study, Context& context);
void add_study_show(Command& study, Context& context);    // show, best
void add_study_export(Command& study, Context& context);  // export, plot

}  // namespace longship::cli
