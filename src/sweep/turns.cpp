// SPDX-License-Identifier: Apache-2.0
#include "turns.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/random.h"
#include "prepare.h"
#include "study/population.h"

namespace longship::sweep {
namespace {

using study::Trial;
using study::TrialNumber;

struct Mark {
  std::size_t member = 0;
  int turn = 0;
  std::optional<TrialNumber> parent;
};

std::string text_of(const Mark& mark) {
  auto text = fmt::format("member {} turn {}", mark.member, mark.turn);
  if (mark.parent) text += fmt::format(" from {}", *mark.parent);
  return formats::json_text(text);
}

std::optional<Mark> mark_of(const Trial& trial) {
  const auto found = trial.wishes.find(remark::mark);
  if (found == trial.wishes.end()) return {};
  Mark mark;
  unsigned long long parent = 0;
  const int read = std::sscanf(found->second.c_str(), "\"member %zu turn %d from %llu\"", &mark.member,
                               &mark.turn, &parent);
  if (read < 2) return {};
  if (read == 3) mark.parent = parent;
  return mark;
}

struct Member {
  int turns = 0;  // begun
  bool busy = false;
  std::map<int, const Trial*> over;  // by turn; null: it failed

  [[nodiscard]] const Trial* last_good() const {
    for (auto turn = over.rbegin(); turn != over.rend(); ++turn)
      if (turn->second != nullptr) return turn->second;
    return nullptr;
  }
};

std::vector<Member> members_of(const study::History& history, std::size_t size) {
  std::vector<Member> members(size);
  for (const auto& trial : history.trials()) {
    const auto mark = mark_of(trial);
    if (!mark || mark->member >= size) continue;  // the population was larger once
    if (find_remark(trial.attributes, remark::rejected) != nullptr) continue;
    auto& member = members[mark->member];
    member.turns = std::max(member.turns, mark->turn + 1);
    member.busy = member.busy || !is_finished(trial.state);
    const bool good = trial.state == study::TrialState::complete && violation(trial) == 0;
    if (is_finished(trial.state)) member.over[mark->turn] = good ? &trial : nullptr;
  }
  return members;
}

void wish_for(std::map<std::string, std::string>& wishes, const study::History& history,
              const study::Point& point) {
  for (const auto& [id, value] : point) {
    const auto& parameter = history.parameter(id);
    wishes[parameter.name] = formats::dump_json(value_of(parameter.domain, value));
  }
}

// Whose checkpoint is better than one's own: nobody's, mostly. Of those that have ended this turn too, so
// many are replaced that it is the share of all in the long run, though the first to end it have nobody
// beside them.
const Trial* better_one(const study::History& history, const std::vector<Member>& members, std::size_t self,
                        const StudyFile& file) {
  const int turn = members[self].turns - 1;
  std::vector<const Trial*> trials;
  std::vector<double> losses;
  std::size_t own = 0;
  for (const auto& member : members) {
    const auto over = member.over.find(turn);
    if (over == member.over.end()) continue;
    if (&member == &members[self]) own = trials.size();
    trials.push_back(over->second);
    losses.push_back(over->second == nullptr ? HUGE_VAL : history.loss(*over->second));
  }
  const auto seed = mixed(file.seed, history.next_number());
  const auto count = static_cast<double>(trials.size());
  const double few = std::floor(file.population.share * count + Random({seed, 0x706274}).uniform());
  if (few < 1 || count < 2) return nullptr;
  const auto other = study::take_over_from(losses, own, std::min(0.5, (few + 0.5) / count), seed);
  return other ? trials[*other] : nullptr;
}

}  // namespace

std::optional<std::map<std::string, std::string>> next_turn(const study::History& history,
                                                            const StudyFile& file) {
  const auto members = members_of(history, file.population.size);
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!members[i].busy && (!next || members[i].turns < members[*next].turns)) next = i;
  if (!next) return {};

  std::map<std::string, std::string> wishes;
  Mark mark{*next, members[*next].turns, {}};
  if (mark.turn == 0 && *next < file.first.size()) {
    for (const auto& entry : file.first[*next])
      if (file.space.find(entry.key) != nullptr) wishes[entry.key] = formats::dump_json(entry.value);
  } else if (mark.turn > 0) {
    const auto* own = members[*next].last_good();
    const auto* other = better_one(history, members, *next, file);
    if (other != nullptr)
      wish_for(wishes, history,
               study::explored(history, other->point, file.population.distance, file.population.anew,
                               mixed(file.seed, history.next_number())));
    else if (own != nullptr)
      wish_for(wishes, history, own->point);
    if (const auto* parent = other != nullptr ? other : own) mark.parent = parent->number;
  }
  wishes[remark::mark] = text_of(mark);
  return wishes;
}

std::optional<TrialNumber> parent_of(const Trial& trial) {
  const auto mark = mark_of(trial);
  return mark ? mark->parent : std::nullopt;
}

}  // namespace longship::sweep
