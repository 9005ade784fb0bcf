// SPDX-License-Identifier: Apache-2.0
// Waiting jobs go to sites. The same verdicts are the decision and, as sentences, `longship why`.
//
// Owners take turns; each owner's jobs go in the order of submission, but one that fits nowhere now does not
// keep a younger one waiting. A queue gets no more attempts than it can use: of large jobs as many as the
// site file's max_queued that do not run yet, of small ones (one node, at most an hour) a few thousand, since
// one pilot carries out many of them and should never wait for the hub.
#pragma once
#include <string>
#include <vector>

#include "state.h"
#include "step.h"

namespace longship::hub {

inline constexpr std::uint32_t small_window = 4096;
inline constexpr int looks_per_pass =
    4096;  // at candidates that fit nowhere; the next pass goes on from there

void place_waiting(const Step& step);

// One queue of one site, seen from a job.
struct Prospect {
  SiteId site = none;
  std::string queue;   // empty: the site is not described yet
  bool fits = false;   // by what job, site and image say
  std::string reason;  // why it does not go there now; empty: it could
  std::string image;   // name of the variant chosen
};
[[nodiscard]] std::vector<Prospect> prospects(const State& state, const Job& job);
// Why it waits, in one sentence.
[[nodiscard]] std::string why_waiting(const State& state, const Job& job,
                                      const std::vector<Prospect>& prospects);

}  // namespace longship::hub
