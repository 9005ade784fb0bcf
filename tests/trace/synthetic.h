// SPDX-License-Identifier: Apache-2.0
// Logs with known answers, written down in milliseconds.
#pragma once
#include <string>
#include <string_view>

#include "record/reader.h"

namespace longship::trace {

class Synthetic {
 public:
  Synthetic(int rank, int size, std::string node = "node-a") {
    log_.begun = true;
    log_.rank = rank;
    log_.size = size;
    log_.node = std::move(node);
  }
  // This rank's clock is `behind` ms behind rank 0's: what happens at 5 it calls 5 - behind.
  Synthetic& clock(std::int64_t behind) {
    log_.clock_offset = ms(behind);
    return *this;
  }
  Synthetic& span(record::Activity activity, std::int64_t begin, std::int64_t end, std::uint32_t lane = 0) {
    log_.spans.push_back({activity, lane, name("span"), own(begin), own(end)});
    return *this;
  }
  Synthetic& collective(std::uint64_t sequence, std::int64_t arrived, std::int64_t begin, std::int64_t end,
                        std::uint64_t bytes = 1 << 20) {
    log_.collectives.push_back({sequence, bytes, name("gradients"), own(arrived), own(begin), own(end)});
    return *this;
  }
  Synthetic& metrics(std::uint64_t step, std::int64_t at, double loss = 0.5, std::uint32_t lane = 0) {
    log_.metrics.push_back({step, 30, lane, own(at), {{name("loss"), loss}}});
    return *this;
  }
  operator record::Log() const { return log_; }

  static constexpr std::int64_t ms(std::int64_t milliseconds) { return milliseconds * 1'000'000; }

 private:
  std::int64_t own(std::int64_t at) const { return ms(at) - log_.clock_offset; }
  std::uint32_t name(std::string_view wanted) {
    for (std::size_t i = 0; i < log_.names.size(); ++i)
      if (log_.names[i] == wanted) return static_cast<std::uint32_t>(i);
    log_.names.emplace_back(wanted);
    return static_cast<std::uint32_t>(log_.names.size() - 1);
  }
  record::Log log_;
};

}  // namespace longship::trace
