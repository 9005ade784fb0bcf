// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <system_error>

namespace longship {

void Error::add(std::string_view doing) {
  text_.insert(0, ": ");
  text_.insert(0, doing);
}

Error Error::with_number(int number, std::string text) {
  Error error("{}: {}", text, std::generic_category().message(number));
  error.number_ = number;
  return error;
}

}  // namespace longship
