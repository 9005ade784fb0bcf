// SPDX-License-Identifier: Apache-2.0
// A study's journal made ready for its file: what the file says is noted, what has to be tried waits, what an
// earlier study found is known. Harmless when it is done again.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/study.h"
#include "study_file.h"

namespace longship::sweep {

struct Prepared {
  std::vector<study::ParameterId> ids;  // of the space's parameters
  std::uint64_t points = 0;          // that wait from the beginning: those of a scan and those to try first
  std::vector<std::string> remarks;  // for a person
};
// An Error if the study was made for a space with which this one's trials cannot be compared.
[[nodiscard]] Prepared prepare(study::Study& study, const StudyFile& file);

// All its points wait from the beginning, and when none waits any more it is over.
[[nodiscard]] bool is_scan(const StudyFile& file);

struct Drawn {
  study::TrialNumber trial = 0;
  formats::Table values;
};
// The next trial whose values keep the rules; nothing if a scan is over, or all members of a population are
// at work. `wishes` are for a new one.
[[nodiscard]] std::optional<Drawn> draw_next(study::Study& study, const StudyFile& file,
                                             const std::vector<study::ParameterId>& ids, double now,
                                             const std::map<std::string, std::string>& wishes);
// Tells a trial whose values break a rule: it costs nothing, and the sampler learns from it.
void reject(study::Study& study, study::TrialNumber trial, const Expression& rule, double now);

// What is noted about trials and studies, for those who go on with them and those who show them.
namespace remark {
inline constexpr const char* mark = "longship.run";                // among the wishes
inline constexpr const char* attempt = "longship.attempt";         // {"attempt": 2, "failures": 1, …}
inline constexpr const char* asked = "longship.asked";             // by a person, who will tell it
inline constexpr const char* known_as = "longship.job";            // "digits-7"
inline constexpr const char* reason = "longship.reason";           // why it failed
inline constexpr const char* rejected = "longship.rejected";       // the rule that its values break
inline constexpr const char* taken_from = "longship.from";         // number in the study it was taken from
inline constexpr const char* metric_names = "study:metric_names";  // of a study from Python
inline constexpr const char* file = "longship.study";              // of a study: its file as JSON
inline constexpr const char* identity =
    "longship.identity";  // of a study: by which a hub tells it from others
inline constexpr const char* directory = "longship.directory";  // of a study: where the file is
}  // namespace remark
// The remark's JSON; null if there is none.
[[nodiscard]] const std::string* find_remark(const std::vector<study::Attribute>& attributes,
                                             std::string_view key);
// The text that it is; empty if there is none.
[[nodiscard]] std::string remark_text(const std::vector<study::Attribute>& attributes, std::string_view key);

}  // namespace longship::sweep
