// SPDX-License-Identifier: Apache-2.0
// The parts of longship site that speak with the hub: add, ls, rm.
#pragma once
#include "command.h"

namespace longship::cli {

void add_site_add(Command& site, Context& context);
void add_site_ls(Command& site, Context& context);
void add_site_rm(Command& site, Context& context);

}  // namespace longship::cli
