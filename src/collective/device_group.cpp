// SPDX-License-Identifier: Apache-2.0
#include "device_group.h"

#include <algorithm>

#include "base/error.h"

namespace longship::collective {
namespace {

// NCCL's own numbers. Booleans are bytes.
int number_of(Type type) {
  constexpr int numbers[type_count] = {1, 0, 2, 4, 6, 9, 7, 8, 1};
  return numbers[static_cast<std::size_t>(type)];
}
int number_of(Op op) {
  constexpr int numbers[element_wise_ops] = {0, 4, 3, 2, 1};
  return numbers[static_cast<std::size_t>(op)];
}

// Booleans: "or" is the maximum, "and" the minimum.
Op device_op(Type type, Op op) {
  if (type != Type::boolean) return op;
  return op == Op::min || op == Op::product ? Op::min : Op::max;
}

}  // namespace

bool device_can_reduce(Type type, Op op) {
  return op != Op::adasum && !(type == Type::boolean && op == Op::average);
}

NcclId DeviceGroup::new_id(const NcclLibrary& library) {
  NcclId id{};
  if (const int code = library.calls().get_unique_id(&id); code != 0)
    throw Error("NCCL cannot begin: {}", library.calls().error_text(code));
  return id;
}

DeviceGroup::DeviceGroup(const NcclLibrary& library, const NcclId& id, int rank, int size)
    : calls_(library.calls()), rank_(rank), size_(size) {
  check(calls_.comm_init_rank(&comm_, size, id, rank), "meet the other ranks");
}

DeviceGroup::~DeviceGroup() {
  if (comm_ != nullptr) calls_.comm_destroy(comm_);
}

void DeviceGroup::abort() {
  if (comm_ != nullptr) calls_.comm_abort(comm_);
  comm_ = nullptr;
}

void DeviceGroup::check(int code, const char* doing) const {
  if (code != 0) throw Error("NCCL cannot {}: {}", doing, calls_.error_text(code));
}

void DeviceGroup::allreduce(Type type, Op op, void* data, std::size_t count, NcclStream stream) const {
  check(calls_.all_reduce(data, data, count, number_of(type), number_of(device_op(type, op)), comm_, stream),
        "all-reduce");
}

void DeviceGroup::broadcast(Type type, void* data, std::size_t count, int root, NcclStream stream) const {
  check(calls_.broadcast(data, data, count, number_of(type), root, comm_, stream), "broadcast");
}

// NCCL gathers equal parts only; unequal ones are a broadcast by each rank.
void DeviceGroup::allgather(Type type, const void* from, void* to, std::span<const std::uint64_t> counts,
                            NcclStream stream) const {
  const bool equal = std::all_of(counts.begin(), counts.end(), [&](auto one) { return one == counts[0]; });
  if (equal)
    return check(calls_.all_gather(from, to, counts[0], number_of(type), comm_, stream), "all-gather");
  together([&] {
    auto* part = static_cast<std::byte*>(to);
    for (int root = 0; root < size_; ++root) {
      const auto count = static_cast<std::size_t>(counts[static_cast<std::size_t>(root)]);
      check(calls_.broadcast(root == rank_ ? from : part, part, count, number_of(type), root, comm_, stream),
            "all-gather");
      part += count * size_of(type);
    }
  });
}

void DeviceGroup::reducescatter(Type type, Op op, const void* from, void* to, std::size_t part,
                                NcclStream stream) const {
  check(calls_.reduce_scatter(from, to, part, number_of(type), number_of(device_op(type, op)), comm_, stream),
        "reduce-scatter");
}

void DeviceGroup::alltoall(Type type, const void* from, void* to, std::size_t part, NcclStream stream) const {
  together([&] {
    for (int peer = 0; peer < size_; ++peer) {
      const std::size_t offset = static_cast<std::size_t>(peer) * part * size_of(type);
      check(calls_.send(static_cast<const std::byte*>(from) + offset, part, number_of(type), peer, comm_,
                        stream),
            "send");
      check(calls_.receive(static_cast<std::byte*>(to) + offset, part, number_of(type), peer, comm_, stream),
            "receive");
    }
  });
}

}  // namespace longship::collective
