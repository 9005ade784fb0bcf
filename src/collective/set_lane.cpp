// SPDX-License-Identifier: Apache-2.0
#include "set_lane.h"

#include <algorithm>

#include "base/error.h"
#include "schedules.h"

namespace longship::collective {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

// Null where a limit stands against it: messages need no such memory.
std::byte* take_memory(Memory& memory, std::size_t bytes) {
  try {
    return memory.allocate(bytes);
  } catch (const Error&) {
    return nullptr;
  }
}

std::byte* find_memory(Memory& memory, int owner, std::uint64_t offset, std::size_t bytes) {
  if (offset == nowhere) return nullptr;
  try {
    return memory.of_rank(owner, offset, bytes);
  } catch (const Error&) {
    return nullptr;
  }
}

Values as_values(std::uint8_t& flag) {
  return {Type::u8, reinterpret_cast<std::byte*>(&flag), 1};
}

}  // namespace

SetLane::SetLane(Segment& segment, std::vector<int> members, std::byte* start)
    : segment_(segment), members_(std::move(members)), start_(start) {}

Lane SetLane::lane() const {
  const auto own = std::lower_bound(members_.begin(), members_.end(), segment_.rank());
  return Lane::at(start_, segment_, Lane::engine, static_cast<int>(own - members_.begin()), members_);
}

void SetLane::release() {
  segment_.memory()->release(start_);  // of another rank's arena: nothing to do
}

Schedule open_set_lane(Transport& node, Tag tag, Segment& segment, std::vector<int> members,
                       std::unique_ptr<SetLane>& opened) {
  Memory& memory = *segment.memory();
  const std::size_t bytes = Lane::bytes_for(members.size());
  const bool is_owner = node.rank() == 0;
  std::byte* start = is_owner ? take_memory(memory, bytes) : nullptr;
  std::uint64_t offset = start == nullptr ? nowhere : *memory.offset_of(start, bytes);
  Schedule telling = tree_broadcast(node, tag, std::as_writable_bytes(std::span(&offset, 1)), 0);
  while (!telling.step()) co_await pause;

  if (!is_owner) start = find_memory(memory, members.front(), offset, bytes);
  if (start != nullptr) opened = std::make_unique<SetLane>(segment, members, start);
  std::uint8_t all_found = opened ? 1 : 0;
  Schedule agreeing = halving_doubling_allreduce(node, tag, as_values(all_found), Op::min);
  while (!agreeing.step()) co_await pause;
  if (all_found == 1) co_return;
  if (opened) opened->release();
  opened.reset();
}

Schedule close_set_lane(Transport& node, Tag tag, std::unique_ptr<SetLane>& closed) {
  std::uint8_t here = 1;  // to have met is to be done with what was before
  Schedule meeting = halving_doubling_allreduce(node, tag, as_values(here), Op::min);
  while (!meeting.step()) co_await pause;
  if (closed) closed->release();
  closed.reset();
}

}  // namespace longship::collective
