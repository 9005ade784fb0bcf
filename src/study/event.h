// SPDX-License-Identifier: Apache-2.0
// What happens in a study. Each change is one of these: it is written to the journal, if there is one, and
// then applied to the History, by the process that made it and by those that read of it alike.
//
// As bytes: a byte for the kind (the place in the variant), then the members in their order; integers and
// doubles little-endian, texts and lists after their length in four bytes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain.h"
#include "trial.h"

namespace longship::study {

// The first of each journal: what all processes of a study have to agree on.
struct Opened {
  std::uint32_t version = 1;
  std::string name;
  std::vector<std::uint8_t> maximise;  // one for each objective
};
struct ParameterDefined {  // from here on the writer calls it by this number
  ParameterId id = 0;
  std::string name;
  Domain domain;
};
struct TrialEnqueued {
  TrialNumber number = 0;
  std::map<std::string, std::string> wishes;
};
struct TrialBegun {
  TrialNumber number = 0;
  double time = 0;
  std::int64_t generation = -1;
  Point planned;
};
struct Suggested {
  TrialNumber number = 0;
  Assigned assigned;
};
struct Reported {
  TrialNumber number = 0;
  std::int64_t step = 0;
  double value = 0;
};
struct Noted {
  TrialNumber number = 0;
  Attribute attribute;
};
struct Constrained {
  TrialNumber number = 0;
  std::vector<double> constraints;
};
struct TrialFinished {
  TrialNumber number = 0;
  TrialState state = TrialState::failed;
  std::vector<double> values;
  double time = 0;
};
struct StudyNoted {
  Attribute attribute;
};

using Event = std::variant<Opened, ParameterDefined, TrialEnqueued, TrialBegun, Suggested, Reported, Noted,
                           Constrained, TrialFinished, StudyNoted>;

[[nodiscard]] std::string encoded(const Event& event);
// An Error if the bytes are no event, or one of a newer version of the format.
[[nodiscard]] Event decoded(std::string_view bytes);

}  // namespace longship::study
