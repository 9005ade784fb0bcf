// SPDX-License-Identifier: Apache-2.0
// Operations across ranks, from the C struct to the engine's request and back.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "call.h"

namespace {

using namespace longship;
using namespace longship::abi;
using namespace longship::collective;

// Results between their wait and their reading.
std::mutex results_mutex;
std::map<Handle, Result> results;

// A caller compiled against an older header knows fewer fields: the rest are as if it had said nothing.
constexpr size_t first_version = offsetof(longship_operation, wire);

longship_operation plain(int kind, const char* name, void* data, size_t count, int type) {
  longship_operation operation{};
  operation.bytes = sizeof operation;
  operation.kind = kind;
  operation.name = name;
  operation.data = data;
  operation.count = count;
  operation.type = type;
  operation.prescale = operation.postscale = 1;
  return operation;
}

longship_operation whole(const longship_operation* given) {
  if (given == nullptr || given->bytes < first_version)
    throw Error(Failure::usage, "longship_operation: bytes is not its size");
  longship_operation operation{};
  std::memcpy(&operation, given, std::min(given->bytes, sizeof operation));
  return operation;
}

Type wire_type(const longship_operation& operation) {
  if (operation.wire == 0) return Type::f32;  // all as it is
  return static_cast<Type>(number_below(operation.wire, type_count, "type for the wire"));
}

Request request(const longship_operation& operation) {
  const bool joins = operation.kind == LONGSHIP_JOIN;  // matched by what it is
  if (operation.name == nullptr && !joins) throw Error(Failure::usage, "an operation needs a name");
  if (operation.data == nullptr && operation.count > 0)
    throw Error(Failure::usage, "\"{}\": no data", operation.name);
  Request asked;
  asked.what.kind = static_cast<Kind>(number_below(operation.kind, first_inner_kind, "kind of operation"));
  asked.what.type = static_cast<Type>(number_below(operation.type, type_count, "type"));
  asked.what.op = static_cast<Op>(number_below(operation.op, op_count, "operation"));
  asked.what.root = operation.root;
  asked.what.count = operation.count;
  asked.what.name = joins ? join_name : operation.name;
  asked.what.set = operation.process_set;
  if (operation.group != nullptr) asked.what.group = operation.group;
  asked.what.group_size = asked.what.group.empty() ? 0 : operation.group_size;
  asked.what.prescale = operation.prescale;
  asked.what.postscale = operation.postscale;
  asked.what.row = std::max<size_t>(operation.row, 1);
  asked.what.wire = wire_type(operation);
  asked.what.device = operation.device != 0;
  asked.stream = operation.stream;
  asked.output = static_cast<std::byte*>(operation.output);
  if (asked.what.kind == Kind::alltoall && operation.splits != nullptr)
    asked.splits.assign(operation.splits, operation.splits + ranks_of_set(operation.process_set).size());
  asked.data = static_cast<std::byte*>(operation.data);
  return asked;
}

bool has_more_to_read(Kind kind) {
  return kind != Kind::allreduce && kind != Kind::broadcast && kind != Kind::barrier;
}

int code_of(const Result& result) {
  if (!result.error.empty()) throw Error("{}", result.error);
  return LONGSHIP_OK;
}

int64_t begin(const longship_operation& operation) {
  return session()->driver().submit(request(operation));
}

int run(const longship_operation& operation) {
  Request asked = request(operation);
  if (has_more_to_read(asked.what.kind))
    throw Error(Failure::usage, "\"{}\": {} has a result to be read: begin it and wait", asked.what.name,
                name_of(asked.what.kind));
  return code_of(session()->driver().run(std::move(asked)));
}

// Calls work(result) with the one of that handle.
template <class Work>
int with_result(Handle handle, Work work) {
  const std::lock_guard lock(results_mutex);
  const auto found = results.find(handle);
  if (found == results.end()) throw Error(Failure::usage, "handle {} is not a finished all-gather", handle);
  work(found);
  return LONGSHIP_OK;
}

}  // namespace

void abi::forget_results() {
  const std::lock_guard lock(results_mutex);
  results.clear();
}

int64_t longship_begin(const longship_operation* operation) {
  return guarded([&] { return begin(whole(operation)); });
}

int longship_run(const longship_operation* operation) {
  return guarded([&] { return run(whole(operation)); });
}

int64_t longship_allreduce_begin(const char* name, void* data, size_t count, int type, int op) {
  auto operation = plain(LONGSHIP_ALLREDUCE, name, data, count, type);
  operation.op = op;
  return guarded([&] { return begin(operation); });
}

int64_t longship_broadcast_begin(const char* name, void* data, size_t count, int type, int root) {
  auto operation = plain(LONGSHIP_BROADCAST, name, data, count, type);
  operation.root = root;
  return guarded([&] { return begin(operation); });
}

int64_t longship_allgather_begin(const char* name, const void* data, size_t count, int type) {
  // All-gather only reads; the struct's pointer serves the others as well.
  return guarded(
      [&] { return begin(plain(LONGSHIP_ALLGATHER, name, const_cast<void*>(data), count, type)); });
}

int64_t longship_barrier_begin(const char* name) {
  return guarded([&] { return begin(plain(LONGSHIP_BARRIER, name, nullptr, 0, LONGSHIP_U8)); });
}

int longship_poll(int64_t handle) {
  return guarded([&] { return session()->driver().finished(handle) ? 1 : 0; });
}

int longship_wait(int64_t handle) {
  return guarded([&]() -> int {
    Result result = session()->driver().wait(handle);
    if (!result.error.empty() || result.counts.empty()) return code_of(result);
    const std::lock_guard lock(results_mutex);
    results[handle] = std::move(result);
    return LONGSHIP_OK;
  });
}

int longship_gathered_counts(int64_t handle, uint64_t* counts) {
  return guarded([&] {
    return with_result(handle, [&](auto found) {
      std::copy(found->second.counts.begin(), found->second.counts.end(), counts);
    });
  });
}

int longship_gathered(int64_t handle, void* data, size_t bytes) {
  return guarded([&] {
    return with_result(handle, [&](auto found) {
      const auto& all = found->second.gathered;
      if (bytes != all.size())
        throw Error(Failure::usage, "{} bytes were gathered, there is room for {}", all.size(), bytes);
      if (bytes > 0) std::memcpy(data, all.data(), bytes);
      results.erase(found);
    });
  });
}

int longship_joined(int64_t handle) {
  return guarded([&] {
    int last = 0;
    with_result(handle, [&](auto found) {
      last = static_cast<int>(found->second.counts.front());
      results.erase(found);
    });
    return last;
  });
}

int longship_allreduce(const char* name, void* data, size_t count, int type, int op) {
  auto operation = plain(LONGSHIP_ALLREDUCE, name, data, count, type);
  operation.op = op;
  return guarded([&] { return run(operation); });
}

int longship_broadcast(const char* name, void* data, size_t count, int type, int root) {
  auto operation = plain(LONGSHIP_BROADCAST, name, data, count, type);
  operation.root = root;
  return guarded([&] { return run(operation); });
}

int longship_barrier(const char* name) {
  return guarded([&] { return run(plain(LONGSHIP_BARRIER, name, nullptr, 0, LONGSHIP_U8)); });
}
