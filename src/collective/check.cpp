// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "device_group.h"

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
  if (what.is_narrowed() && (what.type != Type::f32 || (what.wire != Type::f16 && what.wire != Type::bf16) ||
                             what.op == Op::adasum))
    throw Error(Failure::usage, "\"{}\": only f32 can be sent as f16 or bf16, and not for Adasum: {}",
                what.name, described(what));
  if (what.type == Type::boolean && what.op == Op::average)
    throw Error(Failure::usage, "\"{}\": booleans have no average; sum is \"or\", product is \"and\"",
                what.name);
  if (!std::isfinite(what.prescale) || !std::isfinite(what.postscale))
    throw Error(Failure::usage, "\"{}\": scaled by {} and {}", what.name, what.prescale, what.postscale);
  if (what.row == 0 || what.count % what.row != 0)
    throw Error(Failure::usage, "\"{}\": {} elements are not whole rows of {}", what.name, what.count,
                what.row);
}

// What NCCL does not do, and what we would have to do in a GPU's memory.
void check_device(const Request& request) {
  const Announcement& what = request.what;
  const bool reduces = what.kind == Kind::allreduce || what.kind == Kind::reducescatter;
  const auto refuse = [&](const char* why) {
    throw Error(Failure::usage, "\"{}\", {}: {}", what.name, described(what), why);
  };
  if (reduces && !device_can_reduce(what.type, what.op)) refuse("GPUs have no such reduction");
  if (what.prescale != 1 || what.postscale != 1) refuse("scale it before and after, in the stream");
  if (what.is_narrowed()) refuse("on GPUs, what is to be sent as 16 bits has to be 16 bits");
  if (!request.splits.empty()) refuse("between GPUs all-to-all has equal parts");
  const bool has_output =
      what.kind == Kind::allgather || what.kind == Kind::alltoall || what.kind == Kind::reducescatter;
  if (has_output && request.output == nullptr) refuse("no output");
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
  if (what.kind == Kind::allreduce || what.kind == Kind::reducescatter)
    check_reduction(what);
  else if (what.is_narrowed())
    throw Error(Failure::usage, "\"{}\": only reductions can be sent as {}, not {}", what.name,
                name_of(what.wire), described(what));
  if (what.device) check_device(request);
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
  if (what.device && circle.device == nullptr)
    return fmt::format("\"{}\" is on GPUs: call longship_nccl_open for process set {} first", what.name,
                       what.set);
  if (what.device && what.kind == Kind::reducescatter && what.count / what.row % circle.ranks.size() != 0)
    return fmt::format("reduce-scatter of \"{}\": {} elements are not {} equal parts, as GPUs need them",
                       what.name, what.count, circle.ranks.size());
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
