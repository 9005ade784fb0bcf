// SPDX-License-Identifier: Apache-2.0
// Time as a parameter. Engines take `now` in their step(); what has to ask for it asks a Clock.
#pragma once
#include <chrono>

namespace longship {

using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return std::chrono::steady_clock::now(); }
};

// For tests: time passes when told to.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration by) { now_ += std::chrono::duration_cast<Instant::duration>(by); }

 private:
  Instant now_{};
};

}  // namespace longship
