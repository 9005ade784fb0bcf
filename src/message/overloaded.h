// SPDX-License-Identifier: Apache-2.0
// Several functions as one, to visit a variant with.
#pragma once

namespace longship::message {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace longship::message
