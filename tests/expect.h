// SPDX-License-Identifier: Apache-2.0
// What tests of all rooms need.
#pragma once
#include <string>

#include "base/error.h"

namespace longship {

// What the Error says that leaves `work`.
std::string message_of(auto&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace longship
