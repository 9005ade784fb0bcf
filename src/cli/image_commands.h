// SPDX-License-Identifier: Apache-2.0
// The parts of longship image, and what they share.
#pragma once
#include "command.h"
#include "formats/document.h"

namespace longship::cli {

void add_image_bootstrap(Command& image, Context& context);
void add_image_import(Command& image, Context& context);
void add_image_build(Command& image, Context& context);
void add_image_registry(Command& image, Context& context);  // pull, push, login, logout
void add_image_keep(Command& image, Context& context);      // export, gc, verify

void print_json(formats::Value value);

}  // namespace longship::cli
