// SPDX-License-Identifier: Apache-2.0
// Jobs, attempts and sites as the API shows them: docs/api.md.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "formats/document.h"
#include "state.h"

namespace longship::hub {

// One answer's worth: what many jobs have in common is found out once.
class Describer {
 public:
  Describer(const State& state, Moment now) : state_(state), now_(now) {}

  [[nodiscard]] formats::Table job(JobIndex index);
  [[nodiscard]] formats::Table whole_job(JobIndex index, const std::vector<Note>& history);
  [[nodiscard]] formats::Table site(const Site& site) const;
  [[nodiscard]] formats::Table whole_site(const Site& site) const;  // with what images are checked against
  [[nodiscard]] formats::Table why(JobIndex index);
  [[nodiscard]] formats::Table token(const TokenRecord& token) const;

 private:
  [[nodiscard]] std::string reason(JobIndex index);
  [[nodiscard]] formats::Table attempt(const Job& job, const Attempt& attempt) const;
  [[nodiscard]] formats::Array events(JobIndex index, const std::vector<Note>& history) const;
  [[nodiscard]] const Live* live(JobIndex index) const;

  const State& state_;
  Moment now_;
  std::map<KindId, std::string> reasons_;
};

// As the API has it: seconds since 1970; null for never.
[[nodiscard]] formats::Value seconds(Moment moment);

}  // namespace longship::hub
