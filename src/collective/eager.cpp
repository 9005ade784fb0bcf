// SPDX-License-Identifier: Apache-2.0
#include "eager.h"

#include "numbers.h"
#include "reduce.h"

namespace longship::collective {
namespace {

constexpr std::uint64_t most_bytes = 2048;       // more is quicker sent between pairs of ranks
constexpr std::uint64_t most_at_rank_0 = 65536;  // of all ranks together

}  // namespace

bool Eager::fits(const Announcement& what, int ranks) {
  const bool is_plain = what.kind == Kind::allreduce && what.set == 0 && what.group.empty() &&
                        what.op != Op::adasum && what.type != Type::boolean && !what.is_narrowed() &&
                        !what.device;
  const std::uint64_t bytes = what.bytes();
  return is_plain && bytes > 0 && bytes <= most_bytes &&
         bytes * static_cast<std::uint64_t>(ranks) <= most_at_rank_0;
}

std::vector<std::byte> Eager::values_of(const Announcement& what, const std::byte* data) {
  std::vector<std::byte> values(data, data + what.bytes());
  scale(what.type, values.data(), static_cast<std::size_t>(what.count), what.prescale);
  return values;
}

void Eager::keep(int from, const std::string& name, std::span<const std::byte> values) {
  kept_[name][from].assign(values.begin(), values.end());
}

// In the order of ranks. One that said less than it announced is left to the ordinary way.
std::vector<std::byte> Eager::reduced(const Announcement& what, std::vector<std::byte> own, int ranks) {
  const auto found = kept_.find(what.name);
  if (found == kept_.end()) return {};
  const ByRank others = std::move(found->second);
  kept_.erase(found);
  if (static_cast<int>(others.size()) != ranks - 1) return {};
  std::vector<const std::byte*> inputs = {own.data()};
  for (const auto& [rank, values] : others) {
    if (values.size() != own.size()) return {};
    inputs.push_back(values.data());
  }
  std::byte* const output = own.data();
  static_cast<void>(
      combine_all(what.type, what.op, inputs, {&output, 1}, static_cast<std::size_t>(what.count)));
  return own;
}

void Eager::forget(const std::string& name) {
  kept_.erase(name);
}

}  // namespace longship::collective
