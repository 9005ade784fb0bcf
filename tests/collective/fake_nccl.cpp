// SPDX-License-Identifier: Apache-2.0
// A FAKE of NCCL, for machines without a GPU: the functions that Longship calls, with NCCL's names, numbers
// and rules, on host memory, between threads of one process. What it shows is that the calls are right, and
// in the same order on all ranks; nothing about speed. Mistakes that NCCL would hang on are errors here.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

enum Code { success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5 };

struct Call {
  std::string kind;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0, op = 0, root = 0;
  [[nodiscard]] bool agrees(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           root == other.root;
  }
};

std::size_t width(int type) {
  constexpr std::size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type > 9 ? 0 : widths[type];
}

// Where the ranks of one communicator come together.
struct Meeting {
  explicit Meeting(int ranks) : calls(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Call> calls;  // of this round, by rank
  std::size_t here = 0;
  std::uint64_t round = 0;
  int outcome = success;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> letters;  // from, to
};

template <class T>
void reduce(const std::vector<Call>& calls, std::size_t at, std::size_t count, T* into) {
  for (std::size_t i = 0; i < count; ++i) {
    T value = static_cast<const T*>(calls[0].from)[at + i];
    for (std::size_t rank = 1; rank < calls.size(); ++rank) {
      const T next = static_cast<const T*>(calls[rank].from)[at + i];
      const int op = calls[0].op;  // sum, product, max, min, average
      value = static_cast<T>(op == 1   ? value * next
                             : op == 2 ? std::max(value, next)
                             : op == 3 ? std::min(value, next)
                                       : value + next);
    }
    into[i] = calls[0].op == 4 ? static_cast<T>(value / static_cast<T>(calls.size())) : value;
  }
}

bool reduce_bytes(const std::vector<Call>& calls, std::size_t at, std::size_t count, void* into) {
  switch (calls[0].type) {
    case 0:
      return reduce(calls, at, count, static_cast<std::int8_t*>(into)), true;
    case 1:
      return reduce(calls, at, count, static_cast<std::uint8_t*>(into)), true;
    case 2:
      return reduce(calls, at, count, static_cast<std::int32_t*>(into)), true;
    case 4:
      return reduce(calls, at, count, static_cast<std::int64_t*>(into)), true;
    case 7:
      return reduce(calls, at, count, static_cast<float*>(into)), true;
    case 8:
      return reduce(calls, at, count, static_cast<double*>(into)), true;
    default:
      return false;  // the fake does not add 16-bit floats
  }
}

// Done by whoever comes last, for all.
int perform(const std::vector<Call>& calls) {
  const Call& first = calls.front();
  for (const auto& call : calls)
    if (!call.agrees(first)) return invalid_argument;
  const std::size_t bytes = first.count * width(first.type);
  if (first.kind == "AllReduce") {
    std::vector<char> result(bytes);
    if (!reduce_bytes(calls, 0, first.count, result.data())) return invalid_argument;
    for (const auto& call : calls) std::copy_n(result.data(), bytes, static_cast<char*>(call.to));
  } else if (first.kind == "ReduceScatter") {
    for (std::size_t rank = 0; rank < calls.size(); ++rank)
      if (!reduce_bytes(calls, rank * first.count, first.count, calls[rank].to)) return invalid_argument;
  } else if (first.kind == "Broadcast") {
    if (first.root < 0 || static_cast<std::size_t>(first.root) >= calls.size()) return invalid_argument;
    const std::vector<char> value(
        static_cast<const char*>(calls[static_cast<std::size_t>(first.root)].from),
        static_cast<const char*>(calls[static_cast<std::size_t>(first.root)].from) + bytes);
    for (const auto& call : calls) std::copy_n(value.data(), bytes, static_cast<char*>(call.to));
  } else if (first.kind == "AllGather") {
    for (const auto& call : calls)
      for (std::size_t rank = 0; rank < calls.size(); ++rank)
        std::copy_n(static_cast<const char*>(calls[rank].from), bytes,
                    static_cast<char*>(call.to) + rank * bytes);
  }
  return success;
}

std::mutex fake_mutex;
std::map<std::string, std::weak_ptr<Meeting>> meetings;  // by id
std::map<std::string, int> failures;                     // what a test has asked to fail
std::vector<void*> streams;                              // of all calls
std::uint64_t ids = 0, aborted = 0, destroyed = 0;

int scripted(const std::string& function) {
  const std::lock_guard lock(fake_mutex);
  const auto found = failures.find(function);
  return found == failures.end() ? success : found->second;
}

}  // namespace

struct FakeComm {
  std::shared_ptr<Meeting> meeting;
  int rank;
};

namespace {

// All ranks come, the last one works, all leave with the same answer.
int meet(FakeComm& comm, const Call& call) {
  Meeting& meeting = *comm.meeting;
  std::unique_lock lock(meeting.mutex);
  meeting.calls[static_cast<std::size_t>(comm.rank)] = call;
  const std::uint64_t round = meeting.round;
  if (++meeting.here == meeting.calls.size()) {
    meeting.outcome = perform(meeting.calls);
    meeting.here = 0;
    ++meeting.round;
    meeting.changed.notify_all();
  }
  meeting.changed.wait(lock, [&] { return meeting.round != round; });
  return meeting.outcome;
}

int give(FakeComm& comm, const void* from, std::size_t bytes, int peer) {
  const std::lock_guard lock(comm.meeting->mutex);
  const auto* const begin = static_cast<const char*>(from);
  comm.meeting->letters[{comm.rank, peer}].emplace_back(begin, begin + bytes);
  comm.meeting->changed.notify_all();
  return success;
}

int take(FakeComm& comm, void* to, std::size_t bytes, int peer) {
  std::unique_lock lock(comm.meeting->mutex);
  auto& letters = comm.meeting->letters[{peer, comm.rank}];
  comm.meeting->changed.wait(lock, [&] { return !letters.empty(); });
  if (letters.front().size() != bytes) return invalid_argument;
  std::copy_n(letters.front().data(), bytes, static_cast<char*>(to));
  letters.pop_front();
  return success;
}

// Within a group nothing happens before its end; what is sent goes out before anybody waits.
thread_local int depth = 0;
thread_local std::deque<std::function<int()>> sends, others;

int now_or_later(std::deque<std::function<int()>>& later, std::function<int()> work) {
  if (depth == 0) return work();
  later.push_back(std::move(work));
  return success;
}

int collective(const char* function, FakeComm* comm, void* stream, const Call& call) {
  if (const int code = scripted(function); code != success) return code;
  if (comm == nullptr || width(call.type) == 0) return invalid_argument;
  {
    const std::lock_guard lock(fake_mutex);
    streams.push_back(stream);
  }
  return now_or_later(others, [comm, call] { return meet(*comm, call); });
}

}  // namespace

extern "C" {

struct FakeId {
  char bytes[128];
};

int ncclGetUniqueId(FakeId* id) {
  if (const int code = scripted("ncclGetUniqueId"); code != success) return code;
  const std::lock_guard lock(fake_mutex);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->bytes, &++ids, sizeof ids);
  return success;
}

int ncclCommInitRank(FakeComm** comm, int ranks, FakeId id, int rank) {
  if (const int code = scripted("ncclCommInitRank"); code != success) return code;
  if (ranks < 1 || rank < 0 || rank >= ranks) return invalid_argument;
  auto made = std::make_unique<FakeComm>();
  {
    const std::lock_guard lock(fake_mutex);
    auto& known = meetings[std::string(id.bytes, sizeof id.bytes)];
    made->meeting = known.lock();
    if (!made->meeting) known = made->meeting = std::make_shared<Meeting>(ranks);
  }
  made->rank = rank;
  *comm = made.release();
  return meet(**comm, {"Init"});
}

int ncclCommDestroy(FakeComm* comm) {
  delete comm;
  const std::lock_guard lock(fake_mutex);
  ++destroyed;
  return success;
}

int ncclCommAbort(FakeComm* comm) {
  delete comm;
  const std::lock_guard lock(fake_mutex);
  ++aborted;
  return success;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, FakeComm* comm,
                  void* stream) {
  return collective("ncclAllReduce", comm, stream, {"AllReduce", from, to, count, type, op});
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, FakeComm* comm,
                  void* stream) {
  return collective("ncclBroadcast", comm, stream, {"Broadcast", from, to, count, type, 0, root});
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, FakeComm* comm,
                      void* stream) {
  return collective("ncclReduceScatter", comm, stream, {"ReduceScatter", from, to, count, type, op});
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, FakeComm* comm, void* stream) {
  return collective("ncclAllGather", comm, stream, {"AllGather", from, to, count, type});
}
int ncclSend(const void* from, std::size_t count, int type, int peer, FakeComm* comm, void*) {
  return now_or_later(sends, [=] { return give(*comm, from, count * width(type), peer); });
}
int ncclRecv(void* to, std::size_t count, int type, int peer, FakeComm* comm, void*) {
  return now_or_later(others, [=] { return take(*comm, to, count * width(type), peer); });
}

int ncclGroupStart() {
  ++depth;
  return success;
}

int ncclGroupEnd() {
  if (depth == 0) return invalid_usage;
  if (--depth > 0) return success;
  int outcome = success;
  for (auto* const queue : {&sends, &others})
    for (const auto& work : std::exchange(*queue, {}))
      if (const int code = work(); code != success) outcome = code;
  return outcome;
}

const char* ncclGetErrorString(int code) {
  return code == system_error       ? "unhandled system error"
         : code == invalid_argument ? "invalid argument"
                                    : "invalid usage";
}

// ---- For tests ----

void fake_nccl_fail(const char* function, int code) {  // 0: no longer
  const std::lock_guard lock(fake_mutex);
  failures[function] = code;
}
std::uint64_t fake_nccl_aborted() {
  const std::lock_guard lock(fake_mutex);
  return aborted;
}
std::uint64_t fake_nccl_destroyed() {
  const std::lock_guard lock(fake_mutex);
  return destroyed;
}
std::size_t fake_nccl_streams(void** into, std::size_t room) {  // and forgets them
  const std::lock_guard lock(fake_mutex);
  const std::size_t count = std::min(room, streams.size());
  std::copy_n(streams.begin(), count, into);
  streams.clear();
  return count;
}

}  // extern "C"
