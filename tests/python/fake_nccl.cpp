// SPDX-License-Identifier: Apache-2.0
// A FAKE of NCCL between processes, for machines without a GPU: the functions that Longship calls, on host
// memory that the processes share. tests/collective/fake_nccl.cpp, between threads, is stricter about what
// NCCL refuses; this one is there so that longship.torch can be run through it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int success = 0, system_error = 2, invalid_argument = 4;
constexpr int most_ranks = 4;
constexpr std::size_t room = 1 << 20;  // bytes of one rank

struct Call {
  int kind, type, op, root;
  std::size_t count;
};

struct Meeting {
  std::atomic<int> here, round;  // zero, as the file is
  Call calls[most_ranks];
  char data[most_ranks][room];
};

std::string calls_made;  // one letter each, for tests
void* last_stream = nullptr;

std::size_t width(int type) {
  constexpr std::size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return widths[type];
}

double value_of(int type, const char* at) {
  const auto as = [at](auto value) {
    return std::memcpy(&value, at, sizeof value), static_cast<double>(value);
  };
  if (type == 9) {  // bfloat16: the upper half of a float
    std::uint16_t half = 0;
    std::memcpy(&half, at, 2);
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  return type == 7 ? as(0.0F) : type == 8 ? as(0.0) : type == 4 ? as(std::int64_t{0}) : as(std::int32_t{0});
}

void put_value(int type, char* at, double number) {
  const auto as = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  if (type == 9) {
    const auto value = static_cast<float>(number);
    std::memcpy(at, reinterpret_cast<const char*>(&value) + 2, 2);
  } else if (type == 7) {
    as(static_cast<float>(number));
  } else if (type == 8) {
    as(number);
  } else if (type == 4) {
    as(static_cast<std::int64_t>(number));
  } else {
    as(static_cast<std::int32_t>(number));
  }
}

double combined(int op, double a, double b) {
  return op == 1 ? a * b : op == 2 ? std::max(a, b) : op == 3 ? std::min(a, b) : a + b;
}

}  // namespace

struct FakeComm {
  Meeting* meeting;
  int rank, ranks;
};

namespace {

// Until all ranks have come. False if one does not: its test has failed, and the others shall not hang.
bool all_here(const FakeComm& comm) {
  Meeting& meeting = *comm.meeting;
  const int round = meeting.round;
  if (++meeting.here == comm.ranks) {
    meeting.here = 0;
    ++meeting.round;
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (meeting.round == round) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

void reduce(const FakeComm& comm, const Call& call, std::size_t first, char* to) {
  const std::size_t bytes = width(call.type);
  for (std::size_t i = 0; i < call.count; ++i) {
    double value = value_of(call.type, comm.meeting->data[0] + (first + i) * bytes);
    for (int rank = 1; rank < comm.ranks; ++rank)
      value = combined(call.op, value, value_of(call.type, comm.meeting->data[rank] + (first + i) * bytes));
    put_value(call.type, to + i * bytes, call.op == 4 ? value / comm.ranks : value);
  }
}

enum Kind { all_reduce, broadcast, reduce_scatter, all_gather };

// All ranks leave what they have, meet, and make the result, each for itself.
int together(const FakeComm& comm, const Call& call, const void* from, void* to) {
  Meeting& meeting = *comm.meeting;
  const std::size_t bytes = call.count * width(call.type);
  const std::size_t given =
      call.kind == reduce_scatter ? bytes * static_cast<std::size_t>(comm.ranks) : bytes;
  if (given > room) return invalid_argument;
  meeting.calls[comm.rank] = call;
  std::memcpy(meeting.data[comm.rank], from, given);
  if (!all_here(comm)) return system_error;
  bool agreed = true;
  for (int rank = 0; rank < comm.ranks; ++rank)
    agreed = agreed && std::memcmp(&meeting.calls[rank], &call, sizeof call) == 0;
  auto* const into = static_cast<char*>(to);
  if (agreed && call.kind == all_reduce) reduce(comm, call, 0, into);
  if (agreed && call.kind == reduce_scatter)
    reduce(comm, call, call.count * static_cast<std::size_t>(comm.rank), into);
  if (agreed && call.kind == broadcast) std::memcpy(into, meeting.data[call.root], bytes);
  if (agreed && call.kind == all_gather)
    for (int rank = 0; rank < comm.ranks; ++rank)
      std::memcpy(into + static_cast<std::size_t>(rank) * bytes, meeting.data[rank], bytes);
  if (!all_here(comm)) return system_error;
  return agreed ? success : invalid_argument;
}

int depth = 0;  // of groups; the engine makes its calls one at a time
std::vector<std::function<int()>> later;

int now_or_later(char letter, void* stream, std::function<int()> work) {
  calls_made += letter;
  last_stream = stream;
  if (depth == 0) return work();
  later.push_back(std::move(work));
  return success;
}

Call call_of(Kind kind, std::size_t count, int type, int op, int root) {
  Call call;
  std::memset(&call, 0, sizeof call);  // compared byte by byte
  call.kind = kind, call.type = type, call.op = op, call.root = root, call.count = count;
  return call;
}

// What goes from one rank to another has its own place.
constexpr std::size_t letter = room / most_ranks;
const FakeComm* sending = nullptr;

}  // namespace

extern "C" {

struct FakeId {
  char path[128];
};

int ncclGetUniqueId(FakeId* id) {
  static int made = 0;
  std::memset(id, 0, sizeof *id);
  const std::string path = "/dev/shm/fake-nccl-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
  std::memcpy(id->path, path.c_str(), path.size());
  return success;
}

int ncclCommInitRank(FakeComm** comm, int ranks, FakeId id, int rank) {
  if (ranks > most_ranks) return invalid_argument;
  const int file = ::open(id.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return system_error;
  void* const memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return system_error;
  ::close(file);
  *comm = new FakeComm{static_cast<Meeting*>(memory), rank, ranks};
  if (!all_here(**comm)) return system_error;
  if (rank == 0) ::unlink(id.path);
  return success;
}

int ncclCommDestroy(FakeComm* comm) {
  delete comm;  // the mapping goes with the process
  return success;
}
int ncclCommAbort(FakeComm* comm) {
  return ncclCommDestroy(comm);
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, FakeComm* comm,
                  void* stream) {
  return now_or_later('a', stream,
                      [=] { return together(*comm, call_of(all_reduce, count, type, op, 0), from, to); });
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, FakeComm* comm,
                  void* stream) {
  return now_or_later('b', stream,
                      [=] { return together(*comm, call_of(broadcast, count, type, 0, root), from, to); });
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, FakeComm* comm,
                      void* stream) {
  return now_or_later('r', stream,
                      [=] { return together(*comm, call_of(reduce_scatter, count, type, op, 0), from, to); });
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, FakeComm* comm, void* stream) {
  return now_or_later('g', stream,
                      [=] { return together(*comm, call_of(all_gather, count, type, 0, 0), from, to); });
}
int ncclSend(const void* from, std::size_t count, int type, int peer, FakeComm* comm, void* stream) {
  if (depth == 0 || count * width(type) > letter) return invalid_argument;
  calls_made += 's';
  last_stream = stream;
  sending = comm;
  std::memcpy(comm->meeting->data[comm->rank] + static_cast<std::size_t>(peer) * letter, from,
              count * width(type));
  return success;
}
int ncclRecv(void* to, std::size_t count, int type, int peer, FakeComm* comm, void*) {
  later.emplace_back([=] {
    const char* const from = comm->meeting->data[peer] + static_cast<std::size_t>(comm->rank) * letter;
    std::memcpy(to, from, count * width(type));
    return success;
  });
  return success;
}

int ncclGroupStart() {
  ++depth;
  return success;
}
int ncclGroupEnd() {
  if (--depth > 0) return success;
  const FakeComm* const comm = std::exchange(sending, nullptr);
  if (comm != nullptr && !all_here(*comm)) return system_error;  // all letters are written
  int outcome = success;
  for (const auto& work : std::exchange(later, {}))
    if (const int code = work(); code != success) outcome = code;
  if (comm != nullptr && !all_here(*comm)) return system_error;  // and read
  return outcome;
}

const char* ncclGetErrorString(int code) {
  return code == system_error ? "unhandled system error" : "invalid argument";
}

// ---- For tests: which calls were made since the last time, and the stream of the last one ----

const char* fake_nccl_calls() {
  static std::string told;
  told = std::exchange(calls_made, {});
  return told.c_str();
}
void* fake_nccl_stream() {
  return last_stream;
}

}  // extern "C"
