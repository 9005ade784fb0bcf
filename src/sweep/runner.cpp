// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

namespace longship::sweep {

void Loop::turn(const std::function<double()>& now, std::chrono::milliseconds patience) {
  for (auto& action : engine_.step(now())) due_.push_back(std::move(action));
  for (; !due_.empty(); due_.pop_front()) {
    if (const auto* start = std::get_if<Start>(&due_.front()))
      engine_.started(start->trial, runner_.start(*start));
    else
      runner_.stop(std::get<Stop>(due_.front()).trial);
  }
  for (const auto& heard : runner_.listen(patience)) engine_.hear(now(), heard);
}

}  // namespace longship::sweep
