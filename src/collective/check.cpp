// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace longship::collective {
namespace {

void check_name(const std::string& name, const char* whose) {
  if (name.size() > longest_name)
    throw Error(Failure::usage, "the name of a {} has 1 to {} bytes, not {}", whose, longest_name,
                name.size());
}

void check_reduction(const Announcement& what) {
  if (what.op == Op::adasum && (what.kind != Kind::allreduce || !is_floating(what.type)))
    throw Error(Failure::usage, "\"{}\": Adasum is for all-reduces of floating types, not for {}", what.name,
                described(what));
  if (what.type == Type::boolean && what.op == Op::average)
    throw Error(Failure::usage, "\"{}\": booleans have no average; sum is \"or\", product is \"and\"",
                what.name);
  if (!std::isfinite(what.prescale) || !std::isfinite(what.postscale))
    throw Error(Failure::usage, "\"{}\": scaled by {} and {}", what.name, what.prescale, what.postscale);
  if (what.row == 0 || what.count % what.row != 0)
    throw Error(Failure::usage, "\"{}\": {} elements are not whole rows of {}", what.name, what.count,
                what.row);
}

void check_members(const std::vector<int>& members, int world_size) {
  if (members.empty()) throw Error(Failure::usage, "a process set needs a rank");
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] < 0 || members[i] >= world_size)
      throw Error(Failure::usage, "a process set with rank {}: there are only {}", members[i], world_size);
    if (i > 0 && members[i] <= members[i - 1])
      throw Error(Failure::usage, "a process set with rank {} twice", members[i]);
  }
}

}  // namespace

void check(const Request& request, int world_size) {
  const Announcement& what = request.what;
  if (what.name.empty())
    throw Error(Failure::usage, "the name of a tensor has 1 to {} bytes, not 0", longest_name);
  check_name(what.name, "tensor");
  check_name(what.group, "group");
  if (!what.group.empty() && what.group_size == 0)
    throw Error(Failure::usage, "\"{}\": group \"{}\" has no members", what.name, what.group);
  if (what.kind == Kind::broadcast && (what.root < 0 || what.root >= world_size))
    throw Error(Failure::usage, "broadcast of \"{}\" from rank {}: there are only {}", what.name, what.root,
                world_size);
  if (what.kind == Kind::allreduce || what.kind == Kind::reducescatter) check_reduction(what);
  if (what.kind == Kind::add_set) check_members(what.members, world_size);
  if (what.kind == Kind::join && what.set != 0)
    throw Error(Failure::usage, "all ranks join, not those of a process set");
}

std::string why_not_in(const Circle& circle, const Request& request) {
  const Announcement& what = request.what;
  if (what.kind == Kind::broadcast &&
      !std::binary_search(circle.ranks.begin(), circle.ranks.end(), what.root))
    return fmt::format("broadcast of \"{}\" from rank {}, which does not belong to process set {}", what.name,
                       what.root, what.set);
  if (what.kind != Kind::alltoall) return {};
  if (request.splits.empty()) {
    if (what.count % circle.ranks.size() == 0) return {};
    return fmt::format("all-to-all of \"{}\": {} elements are not {} equal parts", what.name, what.count,
                       circle.ranks.size());
  }
  const auto sum = std::accumulate(request.splits.begin(), request.splits.end(), std::uint64_t{0});
  if (request.splits.size() == circle.ranks.size() && sum == what.count) return {};
  return fmt::format("all-to-all of \"{}\": the parts for {} ranks have {} elements, not {}", what.name,
                     request.splits.size(), sum, what.count);
}

}  // namespace longship::collective
