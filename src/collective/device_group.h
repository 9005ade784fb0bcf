// SPDX-License-Identifier: Apache-2.0
// The ranks of a process set as NCCL knows them: operations on tensors in their GPUs' memory.
//
// A call returns once the work is in the stream, not when it is done: what the caller puts into the same
// stream afterwards comes after it, as with every other work on a GPU. All ranks make the same calls in the
// same order, which the engine's agreement sees to. One thread at a time.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "element.h"
#include "nccl_library.h"

namespace longship::collective {

class DeviceGroup {
 public:
  [[nodiscard]] static NcclId new_id(const NcclLibrary& library);

  // By all ranks together, each with its GPU as the current device of the calling thread. Blocks until all
  // are there.
  DeviceGroup(const NcclLibrary& library, const NcclId& id, int rank, int size);
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  void allreduce(Type type, Op op, void* data, std::size_t count, NcclStream stream) const;
  void broadcast(Type type, void* data, std::size_t count, int root, NcclStream stream) const;
  // `to` has room for the elements of all ranks, one after the other.
  void allgather(Type type, const void* from, void* to, std::span<const std::uint64_t> counts,
                 NcclStream stream) const;
  // `to` has room for this rank's part.
  void reducescatter(Type type, Op op, const void* from, void* to, std::size_t part, NcclStream stream) const;
  // As many elements to as from each rank.
  void alltoall(Type type, const void* from, void* to, std::size_t part, NcclStream stream) const;

  // Calls in between are handed to the GPU as one.
  void together(auto&& work) const {
    check(calls_.group_start(), "begin a group");
    try {
      work();
    } catch (...) {
      calls_.group_end();  // this thread may use NCCL for something else
      throw;
    }
    check(calls_.group_end(), "end a group");
  }

  // Another rank is lost: what waits for it on the GPU ends.
  void abort();

  [[nodiscard]] int size() const { return size_; }

 private:
  void check(int code, const char* doing) const;

  const NcclCalls& calls_;
  int rank_, size_;
  NcclComm comm_ = nullptr;
};

// Whether NCCL can do it at all.
[[nodiscard]] bool device_can_reduce(Type type, Op op);

}  // namespace longship::collective
