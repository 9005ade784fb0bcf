// SPDX-License-Identifier: Apache-2.0
#include "task.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "narrow.h"
#include "numbers.h"

namespace longship::collective {
namespace {

std::size_t bytes_of(const Request& request) {
  return static_cast<std::size_t>(request.what.bytes());
}

Schedule nothing_to_do() {
  co_return;
}

// Booleans are bytes of 0 and 1: "or" is their maximum, "and" their minimum.
Type reduced_type(Type type) {
  return type == Type::boolean ? Type::u8 : type;
}
Op reduced_op(const Announcement& what) {
  if (what.type != Type::boolean) return what.op;
  return what.op == Op::min || what.op == Op::product ? Op::min : Op::max;
}

Values values_of(const Request& request) {
  return {reduced_type(request.what.type), request.data, static_cast<std::size_t>(request.what.count)};
}

std::span<float> floats_of(const Request& request) {
  return {reinterpret_cast<float*>(request.data), static_cast<std::size_t>(request.what.count)};
}

// Whole rows, the first ranks one more.
std::vector<Range> parts_of(const Announcement& what, int ranks) {
  std::vector<Range> parts;
  const auto row = static_cast<std::size_t>(what.row);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const Range rows =
        part_of(static_cast<std::size_t>(what.count) / row, static_cast<std::size_t>(ranks), rank);
    parts.push_back({rows.begin * row, rows.end * row});
  }
  return parts;
}

}  // namespace

Ghost::Ghost(const Announcement& what, std::size_t set_size) : request{what} {
  if (what.kind == Kind::allgather || what.kind == Kind::alltoall) request.what.count = 0;
  if (what.kind == Kind::alltoall) request.splits.assign(set_size, 0);
  bytes.resize(static_cast<std::size_t>(request.what.bytes()));
  const bool reduces = what.kind == Kind::allreduce || what.kind == Kind::reducescatter;
  if (reduces)
    fill_neutral(reduced_type(what.type), reduced_op(what), bytes.data(),
                 static_cast<std::size_t>(what.count));
  request.data = bytes.data();
}

Layout Circle::layout() const {
  return {static_cast<int>(ranks.size()), count_nodes(nodes), shares_memory()};
}

bool Circle::shares_memory() const {
  return lane && static_cast<std::size_t>(lane->ranks) == ranks.size();
}

std::vector<int> nodes_of(const std::vector<int>& ranks, const std::vector<int>& world) {
  std::map<int, int> numbers;
  std::vector<int> nodes;
  for (const int rank : ranks) {
    const int node = world.empty() ? 0 : world[static_cast<std::size_t>(rank)];
    nodes.push_back(numbers.try_emplace(node, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

int count_nodes(const std::vector<int>& nodes) {
  return nodes.empty() ? 1 : *std::max_element(nodes.begin(), nodes.end()) + 1;
}

Task::Task(const Circle& circle, std::vector<const Request*> requests, std::vector<std::uint64_t> counts,
           Tag tag, Way way, std::vector<std::byte> values, Circle* changed)
    : circle_(circle),
      requests_(std::move(requests)),
      transport_(chosen_transport()),
      counts_(std::move(counts)),
      tag_(tag),
      way_(way),
      known_(std::move(values)),
      changed_(changed),
      schedule_(schedule()) {}

Transport& Task::chosen_transport() {
  if (!what().is_narrowed()) return *circle_.transport;
  return narrow_.emplace(*circle_.transport, what().wire);
}

bool Task::step() {
  bool done = false;
  do {
    if (narrow_) narrow_->deliver();
    done = schedule_.step();
  } while (!done && narrow_ && narrow_->deliver());
  if (!done) return false;
  finish();
  return true;
}

Result Task::take() {
  return {{}, std::move(counts_), std::move(gathered_)};
}

Schedule Task::schedule() {
  const Request& request = *requests_.front();
  if (what().device) return on_device();
  if (!known_.empty()) {
    std::copy(known_.begin(), known_.end(), request.data);
    return nothing_to_do();
  }
  switch (what().kind) {
    case Kind::allreduce:
      return allreduce();
    case Kind::allgather:
      return allgather();
    case Kind::alltoall:
      return alltoall();
    case Kind::reducescatter:
      return reducescatter();
    case Kind::broadcast: {
      const auto root = std::lower_bound(circle_.ranks.begin(), circle_.ranks.end(), what().root);
      return tree_broadcast(transport_, tag_, {request.data, bytes_of(request)},
                            static_cast<int>(root - circle_.ranks.begin()));
    }
    case Kind::add_set:
    case Kind::remove_set:
      return change_set();
    case Kind::barrier:
    case Kind::join:
      break;  // to have agreed is to have met
  }
  return nothing_to_do();
}

Schedule Task::allreduce() {
  Pieces pieces;
  for (const Request* request : requests_) pieces.push_back(values_of(*request));
  for (const auto& piece : pieces) scale(what().type, piece.data, piece.count, what().prescale);
  if (transport_.size() == 1) return nothing_to_do();
  const Op op = reduced_op(what());
  if (circle_.shares_memory() && op != Op::adasum) return direct_and_look(std::move(pieces), op);

  Values values = pieces.front();
  if (pieces.size() > 1) {
    for (const auto& piece : pieces)
      packed_.insert(packed_.end(), piece.data, piece.data + piece.count * size_of(piece.type));
    values = {values.type, packed_.data(), packed_.size() / size_of(values.type)};
  }
  return message_allreduce(values, op);
}

Schedule Task::direct_and_look(Pieces pieces, Op op) {
  looked_for_nan_ = what().postscale == 1;
  if (circle_.holds_back != nullptr) restraint_.emplace(Restraint{circle_.holds_back});
  Restraint* const restraint = restraint_ ? &*restraint_ : nullptr;
  return direct_allreduce(*circle_.lane, std::move(pieces), op, &found_nan_, restraint);
}

Schedule Task::message_allreduce(Values values, Op op) {
  if (op == Op::adasum) return adasum_allreduce(transport_, tag_, values);
  switch (way_) {
    case Way::tree:
      return tree_allreduce(transport_, tag_, values, op);
    case Way::ring:
      return ring_allreduce(transport_, tag_, values, op);
    case Way::hierarchical:
      return hierarchical_allreduce(transport_, circle_.lane, circle_.nodes, tag_, values, op);
    case Way::direct:
    case Way::halving_doubling:
      break;
  }
  return halving_doubling_allreduce(transport_, tag_, values, op);
}

Schedule Task::allgather() {
  const Request& request = *requests_.front();
  std::vector<std::size_t> sizes;
  for (const auto count : counts_) sizes.push_back(static_cast<std::size_t>(count) * size_of(what().type));
  gathered_.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  return ring_allgather(transport_, tag_, {request.data, bytes_of(request)}, gathered_, std::move(sizes));
}

Schedule Task::alltoall() {
  const Request& request = *requests_.front();
  std::vector<std::uint64_t> sizes = request.splits;
  if (sizes.empty()) sizes.assign(circle_.ranks.size(), what().count / circle_.ranks.size());
  for (auto& size : sizes) size *= size_of(what().type);
  return pairwise_alltoall(transport_, tag_, {request.data, bytes_of(request)}, std::move(sizes), gathered_,
                           counts_);
}

Schedule Task::reducescatter() {
  const Request& request = *requests_.front();
  packed_.assign(request.data, request.data + bytes_of(request));
  const Values values = {reduced_type(what().type), packed_.data(), static_cast<std::size_t>(what().count)};
  scale(what().type, values.data, values.count, what().prescale);
  auto parts = parts_of(what(), transport_.size());
  return ring_reducescatter(transport_, tag_, values, std::move(parts), reduced_op(what()));
}

// The ranks of a new set that are on one node get a lane there.
Schedule Task::change_set() {
  const std::optional<Lane>& world = circle_.lane;
  if (changed_ == nullptr || !world) return nothing_to_do();
  const auto node_of = [&](int rank) {
    return circle_.nodes.empty() ? 0 : circle_.nodes[static_cast<std::size_t>(rank)];
  };
  std::vector<int> here, members;  // of the world, of the node
  int before = 0;
  for (const int rank : circle_.ranks) {
    if (node_of(rank) != node_of(circle_.transport->rank())) continue;
    if (std::binary_search(changed_->ranks.begin(), changed_->ranks.end(), rank)) {
      here.push_back(rank);
      members.push_back(before);
    }
    ++before;
  }
  if (here.size() < 2) return nothing_to_do();
  on_node_.emplace(*circle_.transport, here);
  if (what().kind == Kind::remove_set) return close_set_lane(*on_node_, tag_, changed_->own_lane);
  return open_set_lane(*on_node_, tag_, world->segment, std::move(members), changed_->own_lane);
}

void Task::finish() {
  if (changed_ != nullptr && changed_->own_lane) changed_->lane.emplace(changed_->own_lane->lane());
  if (what().device) return;
  if (what().kind == Kind::allreduce) finish_allreduce();
  if (what().kind == Kind::reducescatter) finish_reducescatter();
  if (what().kind == Kind::alltoall)
    for (auto& count : counts_) count /= size_of(what().type);
}

void Task::finish_allreduce() {
  const std::byte* from = packed_.data();
  for (const Request* request : requests_) {
    if (!packed_.empty()) {
      std::copy_n(from, bytes_of(*request), request->data);
      from += bytes_of(*request);
    }
    const auto count = static_cast<std::size_t>(request->what.count);
    // Not every rank has sent all of its result, and so rounded it; now all have the same bits.
    if (narrow_ && narrow_->was_used()) round_to(what().wire, floats_of(*request));
    scale(what().type, request->data, count, what().postscale);
    if (!looked_for_nan_) found_nan_ = found_nan_ || count_nan(what().type, request->data, count) > 0;
  }
}

void Task::finish_reducescatter() {
  const auto parts = parts_of(what(), transport_.size());
  const Range own = parts[static_cast<std::size_t>(transport_.rank())];
  const std::size_t width = size_of(what().type);
  gathered_.assign(packed_.data() + own.begin * width, packed_.data() + own.end * width);
  scale(what().type, gathered_.data(), own.size(), what().postscale);
  found_nan_ = count_nan(what().type, gathered_.data(), own.size()) > 0;
  counts_.clear();
  for (const auto& part : parts) counts_.push_back(part.size());
}

}  // namespace longship::collective
