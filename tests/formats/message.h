// SPDX-License-Identifier: Apache-2.0
// What a piece of work complains about, or nothing.
#pragma once
#include <string>

#include "base/error.h"

namespace longship {

template <class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace longship
