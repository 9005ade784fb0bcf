// SPDX-License-Identifier: Apache-2.0
// The engine: takes requests, agrees with the other ranks on their order, and moves them, without ever
// blocking.
//
//   submit ──▶ announced to rank 0 ──▶ decided for all ──▶ a task runs ──▶ finished
//
// Every rank does the decisions of rank 0 that concern it one after the other, in the order in which they
// come. step() does what can be done now; whoever calls it (driver.h) may sleep when it says that nothing
// moved. An error in the transport fails everything, now and from now on; a refused request fails alone.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agreement.h"
#include "base/clock.h"
#include "eager.h"
#include "postman.h"
#include "record/writer.h"
#include "task.h"
#include "transport.h"
#include "tuner.h"

namespace longship::collective {

using Handle = std::int64_t;

class Engine {
 public:
  struct Options {
    Coordinator::Limits limits;
    std::vector<int> nodes;      // by rank; empty: all on one
    Segment* segment = nullptr;  // of this rank's node, if it is not alone there
    bool shares_core = false;    // whoever steps has no core beside that of the training
    Costs costs;
    std::function<void(const std::string&)> log = {};       // what a user should know
    std::function<void(const std::string&)> log_tune = {};  // what the tuner chooses
  };
  // All outlive the engine. The writer is null if nothing is recorded.
  Engine(Transport& transport, Options options, record::Writer* writer);

  // From any thread. Throws Error for what makes no sense by itself.
  Handle submit(Request request, Instant now);

  // The rest is for one thread at a time.
  bool step(Instant now);
  [[nodiscard]] bool finished(Handle handle) const;
  [[nodiscard]] Result take(Handle handle);  // once, after finished()

  // When step() has to be called although nothing happened.
  [[nodiscard]] std::optional<Instant> deadline() const;
  [[nodiscard]] bool running() const { return running_ != nullptr; }
  [[nodiscard]] bool failed() const { return failure_.has_value(); }

  // Whoever might submit more waits for these instead; none: no longer. Rank 0 is told if it is news, so that
  // it finds ranks that wait for each other (agreement.h).
  void stand_still(const std::vector<Handle>& awaited);

  // True if there is nothing to do until the transport wakes somebody, which it will from now on.
  [[nodiscard]] bool rest(Instant now);

  // Takes no more requests, finishes what is decided, tells the others. Step until left(). A rank that leaves
  // with requests that are not decided yet is lost to the others, who may just be deciding them.
  void leave();
  [[nodiscard]] bool left();

  // On a shared core a rank reduces only while somebody waits for it: not before, because the training would
  // wait for that as long, and finds its caches emptied; and not at all if another rank waits already.
  void let_reduce(bool somebody_waits) { holds_back_ = options_.shares_core && !somebody_waits; }
  [[nodiscard]] bool holds_back() const { return holds_back_; }

  // The expected and the measured costs, as far as this rank knows them: rank 0 knows most.
  [[nodiscard]] std::string schedules() const { return tuner_.table(circles_.at(0).layout()); }

  // Operations of that set may be on GPUs from now on.
  void use_device(int set, std::shared_ptr<DeviceGroup> device);

  // How many reductions had a NaN in their result; those that others did are told.
  void note_nan(const std::string& name);
  [[nodiscard]] std::uint64_t reductions_with_nan() const { return reductions_with_nan_; }

 private:
  struct Operation {
    Request request;
    Instant arrived;
    std::optional<Result> result;
  };
  struct Running {
    std::vector<Handle> members;  // 0 for a ghost
    std::deque<Ghost> ghosts;
    std::optional<Task> task;
    Decision decision;
    int changed = 0;  // the process set that is made or removed, if it is one of this rank's
    bool is_removal = false;
    Instant begin;
  };

  bool advance(Instant now);
  bool take_in_submissions(Instant now);
  void take_in(Handle handle, Operation operation, Report& report);
  [[nodiscard]] std::string why_not(const Request& request) const;
  void announce(Report report, Instant now);
  void heard(int from, std::span<const std::byte> bytes, Instant now);
  bool decide(Instant now);
  void choose_way(Decision& decision);
  void send_values_along(Report& report);
  void answer_with_values(Decision& decision);
  void accept(Decision decision);
  void learn(const Decision& decision);
  bool run(Instant now);
  void start(Instant now);
  const Request* member(Running& running, const Decision& decision, std::size_t index);
  void finish(Instant now);
  int changed_set(const Announcement& change, const Decision& decision);
  void record(const Running& running, Instant end);
  void complete(Handle handle, Result result);
  void refuse(const Awaited& name, const std::string& why);
  void fail(const std::string& why);
  void break_down(const std::string& why);
  [[nodiscard]] const Announcement& what(Handle handle) const { return operations_.at(handle).request.what; }
  [[nodiscard]] std::string title(const Running& running) const;

  Transport& transport_;
  Options options_;
  record::Writer* writer_;
  Postman post_;
  std::optional<Agreement> agreement_;  // on rank 0
  Eager eager_;                         // likewise
  Tuner tuner_;
  std::map<int, Circle> circles_;  // the process sets that this rank belongs to

  mutable std::mutex submissions_mutex_;
  std::vector<std::pair<Handle, Operation>> submissions_;
  Handle next_handle_ = 1;

  std::map<Handle, Operation> operations_;
  std::map<Awaited, Handle> undecided_;
  std::deque<Decision> decisions_;
  std::unique_ptr<Running> running_;
  std::uint64_t answered_ = 0;  // decisions done
  std::vector<Awaited> awaited_;
  std::uint64_t awaited_at_ = 0;  // as rank 0 knows them
  std::uint64_t reductions_with_nan_ = 0;
  bool holds_back_ = false;
  bool leaving_ = false;
  std::optional<std::string> failure_;  // why nothing will succeed any more
  bool broken_ = false;                 // because of the transport, which must not be used again
};

}  // namespace longship::collective
