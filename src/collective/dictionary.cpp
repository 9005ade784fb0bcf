// SPDX-License-Identifier: Apache-2.0
#include "dictionary.h"

#include "base/error.h"

namespace longship::collective {
namespace {

bool is_same_everywhere(const Announcement& one) {
  return one.set == 0 && one.kind != Kind::allgather && one.kind != Kind::alltoall && one.kind < Kind::join;
}

// Without what agree() does not compare: ranks must come to the same numbers although they differ in it.
Announcement essence(const Announcement& one) {
  Announcement same;
  same.kind = one.kind;
  same.type = one.type;
  same.wire = one.wire;
  same.device = one.device;
  same.name = one.name;
  same.group = one.group;
  same.group_size = one.group_size;
  if (one.kind == Kind::broadcast) same.root = one.root;
  if (one.kind != Kind::barrier) same.count = one.count;
  if (one.kind == Kind::allreduce || one.kind == Kind::reducescatter) {
    same.op = one.op;
    same.prescale = one.prescale;
    same.postscale = one.postscale;
    same.row = one.row;
  }
  return same;
}

void append(std::vector<NumberRange>& ranges, std::uint32_t number) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == number)
    ++ranges.back().count;
  else
    ranges.push_back({number, 1});
}

template <class Work>
void for_each_number(const std::vector<NumberRange>& ranges, Work work) {
  for (const auto& range : ranges)
    for (std::uint32_t i = 0; i < range.count; ++i) work(range.first + i);
}

}  // namespace

void Dictionary::learn(const Announcement& announcement) {
  if (!is_same_everywhere(announcement) || words_.size() >= most_words || number(announcement)) return;
  latest_[announcement.name] = static_cast<std::uint32_t>(words_.size());
  words_.push_back(essence(announcement));
}

std::optional<std::uint32_t> Dictionary::number(const Announcement& announcement) const {
  if (!is_same_everywhere(announcement)) return {};
  const auto found = number(announcement.name);
  if (!found || words_[*found] != essence(announcement)) return {};
  return found;
}

std::optional<std::uint32_t> Dictionary::number(const std::string& name) const {
  const auto found = latest_.find(name);
  if (found == latest_.end()) return {};
  return found->second;
}

const Announcement& Dictionary::word(std::uint32_t number) const {
  if (number >= words_.size())
    throw Error("a message from another rank speaks of number {}, which is none", number);
  return words_[number];
}

Report shortened(Report report, const Dictionary& dictionary) {
  std::erase_if(report.announcements, [&](const Announcement& one) {
    const auto number = dictionary.number(one);
    if (number) append(report.numbers, *number);
    return number.has_value();
  });
  return report;
}

Report spelled_out(Report report, const Dictionary& dictionary) {
  std::vector<Announcement> known;
  for_each_number(report.numbers, [&](std::uint32_t number) { known.push_back(dictionary.word(number)); });
  report.announcements.insert(report.announcements.begin(), known.begin(), known.end());
  report.numbers.clear();
  return report;
}

// All or nothing: the order of names is that of counts and details.
Decision shortened(Decision decision, const Dictionary& dictionary) {
  if (decision.set != 0 || !decision.error.empty()) return decision;
  std::vector<NumberRange> numbers;
  for (const auto& name : decision.names) {
    const auto number = dictionary.number(name);
    if (!number) return decision;
    append(numbers, *number);
  }
  decision.numbers = std::move(numbers);
  decision.names.clear();
  return decision;
}

Decision spelled_out(Decision decision, const Dictionary& dictionary) {
  for_each_number(decision.numbers,
                  [&](std::uint32_t number) { decision.names.push_back(dictionary.word(number).name); });
  decision.numbers.clear();
  return decision;
}

}  // namespace longship::collective
