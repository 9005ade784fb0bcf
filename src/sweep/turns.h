// SPDX-License-Identifier: Apache-2.0
// Population-based training: a few members are trained in turns, and each turn is a trial of its own that
// goes on from what another left. After a turn the worst members take over the checkpoint of one of the best,
// with values near that one's; the others go on with their own.
//
// A mark among the wishes of a trial, written before it begins, names its member, its turn and its parent:
// all follows from the history.
//
//   member 0 : trial 0 -> trial 3 -> trial 6
//
//   member 1 : trial 1 -> trial 4 -> trial 7, from the checkpoint of trial 5
//
//   member 2 : trial 2 -> trial 5 -> trial 8
#pragma once
#include <map>
#include <optional>
#include <string>

#include "study/history.h"
#include "study_file.h"

namespace longship::sweep {

// What the next trial is to begin with; nothing while all members are at work. Members are compared as they
// were after the same turn: who is ahead is not better for that.
[[nodiscard]] std::optional<std::map<std::string, std::string>> next_turn(const study::History& history,
                                                                          const StudyFile& file);

// The trial from whose checkpoint this one goes on.
[[nodiscard]] std::optional<study::TrialNumber> parent_of(const study::Trial& trial);

}  // namespace longship::sweep
