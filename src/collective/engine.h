// SPDX-License-Identifier: Apache-2.0
// The engine: takes requests, agrees with the other ranks on their order, and moves them, without ever
// blocking.
//
//   submit ──▶ announced to rank 0 ──▶ decided for all ──▶ a schedule runs ──▶ finished
//
// Every rank runs the decisions of rank 0 one after the other, in the order in which they come. step() does
// what can be done now; whoever calls it (driver.h) may sleep when it says that nothing moved. An error in
// the transport fails everything, now and from now on; a refused request fails alone.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "coordinator.h"
#include "record/writer.h"
#include "request.h"
#include "schedules.h"
#include "transport.h"

namespace longship::collective {

struct Request {
  Announcement what;
  std::byte* data = nullptr;  // changed in place by all-reduce and broadcast; only read by all-gather
};

// How a request ended. The sizes and the bytes are all-gather's: those of rank 0, rank 1, …
struct Result {
  std::string error;  // empty: it went well
  std::vector<std::uint64_t> counts;
  std::vector<std::byte> gathered;
};

using Handle = std::int64_t;

class Engine {
 public:
  struct Options {
    Coordinator::Limits limits;
    std::size_t ring_from = std::size_t{256} << 10;  // bytes from which the ring beats halving-doubling
  };
  // All outlive the engine. The segment is null unless all ranks share it, the writer if nothing is recorded.
  Engine(Transport& transport, Segment* segment, Options options, record::Writer* writer);

  // From any thread. Throws Error for what makes no sense by itself.
  Handle submit(Request request, Instant now);

  // The rest is for one thread at a time.
  bool step(Instant now);
  [[nodiscard]] bool finished(Handle handle) const;
  [[nodiscard]] Result take(Handle handle);  // once, after finished()

  // When step() has to be called although nothing happened.
  [[nodiscard]] std::optional<Instant> deadline() const;
  [[nodiscard]] bool running() const { return running_.has_value(); }
  [[nodiscard]] bool failed() const { return failure_.has_value(); }

  // True if there is nothing to do until the transport wakes somebody, which it will from now on.
  [[nodiscard]] bool rest(Instant now);

  // Takes no more requests, finishes what is decided, tells the others. Step until left(). A rank that leaves
  // with requests that are not decided yet is lost to the others, who may just be deciding them.
  void leave();
  [[nodiscard]] bool left();

 private:
  struct Operation {
    Request request;
    Instant arrived;
    std::optional<Result> result;
  };
  struct Running {
    std::vector<Handle> members;
    Schedule schedule;
    std::vector<std::byte> packed;  // several tensors as one, where the schedule cannot do with pieces
    std::vector<std::byte> gathered;
    std::vector<std::uint64_t> counts;
    Instant begin;
  };
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::deque<Completion> completions;
  };
  struct Incoming {
    int from = 0;
    std::vector<std::byte> buffer;
    Completion completion;
  };

  bool advance(Instant now);
  bool take_in_submissions(Instant now);
  void take_in(Handle handle, Operation operation, Report& report);
  void announce(const Report& report, Instant now);
  void send(int first, int last, Tag tag, std::vector<std::byte> bytes);
  bool forget_sent();
  void listen(Incoming& incoming);
  bool hear(Instant now);
  void heard(int from, std::span<const std::byte> bytes, Instant now);
  bool decide(Instant now);
  void accept(Decision decision);
  bool run(Instant now);
  void start(Instant now);
  Schedule schedule_for(Running& running);
  Schedule allreduce(Running& running);
  Schedule allgather(Running& running);
  void unpack(Running& running);
  void finish(Instant now);
  void record(const Running& running, Instant end);
  void complete(Handle handle, Result result);
  void refuse(const std::string& name, const std::string& why);
  void fail(const std::string& why);
  void break_down(const std::string& why);
  [[nodiscard]] bool alone() const { return transport_.size() == 1; }

  Transport& transport_;
  Segment* segment_;
  Options options_;
  record::Writer* writer_;
  std::optional<Coordinator> coordinator_;  // on rank 0

  mutable std::mutex submissions_mutex_;
  std::vector<std::pair<Handle, Operation>> submissions_;
  Handle next_handle_ = 1;

  std::map<Handle, Operation> operations_;
  std::map<std::string, Handle, std::less<>> undecided_;
  std::deque<Decision> decisions_;
  std::optional<Running> running_;
  std::uint64_t sequence_ = 0;  // of the decisions run: equal on all ranks
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
  bool leaving_ = false;
  std::optional<std::string> failure_;  // why nothing will succeed any more
  bool broken_ = false;                 // because of the transport, which must not be used again
};

}  // namespace longship::collective
