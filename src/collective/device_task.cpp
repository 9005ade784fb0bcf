// SPDX-License-Identifier: Apache-2.0
// What a task does if its tensors are in GPUs' memory: it hands them to NCCL, all at once, and is done.
#include "device_group.h"
#include "task.h"

namespace longship::collective {
namespace {

void put_into_stream(const DeviceGroup& device, const Request& request, int root,
                     std::vector<std::uint64_t>& counts) {
  const Announcement& what = request.what;
  const auto count = static_cast<std::size_t>(what.count);
  const auto part = count / static_cast<std::size_t>(device.size());
  switch (what.kind) {
    case Kind::allreduce:
      return device.allreduce(what.type, what.op, request.data, count, request.stream);
    case Kind::broadcast:
      return device.broadcast(what.type, request.data, count, root, request.stream);
    case Kind::allgather:
      return device.allgather(what.type, request.data, request.output, counts, request.stream);
    case Kind::alltoall:
      counts.assign(static_cast<std::size_t>(device.size()), part);
      return device.alltoall(what.type, request.data, request.output, part, request.stream);
    case Kind::reducescatter:
      counts.assign(static_cast<std::size_t>(device.size()), part);
      return device.reducescatter(what.type, what.op, request.data, request.output, part, request.stream);
    case Kind::barrier:
    case Kind::join:
    case Kind::add_set:
    case Kind::remove_set:
      break;  // to have agreed is to have met
  }
}

}  // namespace

Schedule Task::on_device() {
  const auto root = std::lower_bound(circle_.ranks.begin(), circle_.ranks.end(), what().root);
  const DeviceGroup& device = *circle_.device;
  device.together([&] {
    for (const Request* const request : requests_)
      put_into_stream(device, *request, static_cast<int>(root - circle_.ranks.begin()), counts_);
  });
  co_return;
}

}  // namespace longship::collective
