// SPDX-License-Identifier: Apache-2.0
#include "task.h"

#include <algorithm>
#include <numeric>

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
  const int last = nodes.empty() ? 0 : *std::max_element(nodes.begin(), nodes.end());
  return {static_cast<int>(ranks.size()), last + 1, segment != nullptr};
}

Task::Task(const Circle& circle, std::vector<const Request*> requests, std::vector<std::uint64_t> counts,
           Tag tag, Way way)
    : circle_(circle),
      requests_(std::move(requests)),
      counts_(std::move(counts)),
      tag_(tag),
      way_(way),
      schedule_(schedule()) {}

bool Task::step() {
  if (!schedule_.step()) return false;
  finish();
  return true;
}

Result Task::take() {
  return {{}, std::move(counts_), std::move(gathered_)};
}

Schedule Task::schedule() {
  const Request& request = *requests_.front();
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
      return tree_broadcast(*circle_.transport, tag_, {request.data, bytes_of(request)},
                            static_cast<int>(root - circle_.ranks.begin()));
    }
    case Kind::barrier:
    case Kind::join:
    case Kind::add_set:
    case Kind::remove_set:
      break;  // to have agreed is to have met
  }
  return nothing_to_do();
}

Schedule Task::allreduce() {
  Pieces pieces;
  for (const Request* request : requests_) pieces.push_back(values_of(*request));
  for (const auto& piece : pieces) scale(what().type, piece.data, piece.count, what().prescale);
  if (circle_.transport->size() == 1) return nothing_to_do();
  const Op op = reduced_op(what());
  if (way_ == Way::direct && circle_.segment != nullptr && op != Op::adasum)
    return direct_allreduce(*circle_.segment, std::move(pieces), op);

  Values values = pieces.front();
  if (pieces.size() > 1) {
    for (const auto& piece : pieces)
      packed_.insert(packed_.end(), piece.data, piece.data + piece.count * size_of(piece.type));
    values = {values.type, packed_.data(), packed_.size() / size_of(values.type)};
  }
  return message_allreduce(values, op);
}

Schedule Task::message_allreduce(Values values, Op op) {
  if (op == Op::adasum) return adasum_allreduce(*circle_.transport, tag_, values);
  switch (way_) {
    case Way::tree:
      return tree_allreduce(*circle_.transport, tag_, values, op);
    case Way::ring:
      return ring_allreduce(*circle_.transport, tag_, values, op);
    case Way::hierarchical:
      return hierarchical_allreduce(*circle_.transport, circle_.node_segment, circle_.nodes, tag_, values,
                                    op);
    case Way::direct:
    case Way::halving_doubling:
      break;
  }
  return halving_doubling_allreduce(*circle_.transport, tag_, values, op);
}

Schedule Task::allgather() {
  const Request& request = *requests_.front();
  std::vector<std::size_t> sizes;
  for (const auto count : counts_) sizes.push_back(static_cast<std::size_t>(count) * size_of(what().type));
  gathered_.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  return ring_allgather(*circle_.transport, tag_, {request.data, bytes_of(request)}, gathered_,
                        std::move(sizes));
}

Schedule Task::alltoall() {
  const Request& request = *requests_.front();
  std::vector<std::uint64_t> sizes = request.splits;
  if (sizes.empty()) sizes.assign(circle_.ranks.size(), what().count / circle_.ranks.size());
  for (auto& size : sizes) size *= size_of(what().type);
  return pairwise_alltoall(*circle_.transport, tag_, {request.data, bytes_of(request)}, std::move(sizes),
                           gathered_, counts_);
}

Schedule Task::reducescatter() {
  const Request& request = *requests_.front();
  packed_.assign(request.data, request.data + bytes_of(request));
  const Values values = {reduced_type(what().type), packed_.data(), static_cast<std::size_t>(what().count)};
  scale(what().type, values.data, values.count, what().prescale);
  auto parts = parts_of(what(), circle_.transport->size());
  return ring_reducescatter(*circle_.transport, tag_, values, std::move(parts), reduced_op(what()));
}

void Task::finish() {
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
    scale(what().type, request->data, count, what().postscale);
    nan_count_ += count_nan(what().type, request->data, count);
  }
}

void Task::finish_reducescatter() {
  const auto parts = parts_of(what(), circle_.transport->size());
  const Range own = parts[static_cast<std::size_t>(circle_.transport->rank())];
  const std::size_t width = size_of(what().type);
  gathered_.assign(packed_.data() + own.begin * width, packed_.data() + own.end * width);
  scale(what().type, gathered_.data(), own.size(), what().postscale);
  nan_count_ += count_nan(what().type, gathered_.data(), own.size());
  counts_.clear();
  for (const auto& part : parts) counts_.push_back(part.size());
}

}  // namespace longship::collective
