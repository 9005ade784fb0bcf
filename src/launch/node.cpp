// SPDX-License-Identifier: Apache-2.0
#include "node.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "control.h"
#include "cores.h"
#include "environment.h"
#include "frames.h"
#include "gpu_shares.h"
#include "gpus.h"
#include "limits.h"
#include "poll.h"
#include "ranks.h"

namespace longship::launch {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds tick_interval{200};
constexpr std::size_t portion = 64u << 10;  // of one rank's output before the others get their turn

std::vector<RankStart> starts_of(const Plan& plan, int node, const std::string& node_name,
                                 const Rendezvous& rendezvous, const Bound* bound, const std::string& control,
                                 int only) {
  const auto cores = allowed_cores();
  const int ranks = plan.ranks[static_cast<std::size_t>(node)];
  const auto shares = divide(cores, ranks, plan.threads_per_rank);
  if (ranks > static_cast<int>(cores.size()))
    explain("{} ranks on {} cores: they share them", ranks, cores.size());
  const auto host = current_environment();
  const auto gpus = gpus_given(host, ranks * plan.gpus_per_rank);
  std::vector<RankStart> starts;
  for (int rank = std::max(only, 0); rank < (only < 0 ? ranks : only + 1); ++rank) {
    const auto& share = shares[static_cast<std::size_t>(rank)];
    const bool first = node == 0 && rank == 0;
    const int inherited = first && bound != nullptr ? bound->listening.get() : -1;
    RankPlace place{node, rank, node_name, threads_for(share, plan.threads_per_rank), inherited, control};
    if (plan.gpus_per_rank > 0)
      place.gpus = variables_for(gpus_of_rank(gpus, rank, plan.gpus_per_rank, only >= 0));
    starts.push_back({plan.command, rank_environment(plan, place, rendezvous, host),
                      plan.bind ? share : Cores{}, inherited});
  }
  return starts;
}

// The ranks of a node share a box, and so it has the GPUs of all of them. What a driver consists of differs
// from node to node.
void let_in_gpus_of_ranks(Plan& plan, int node) {
  if (plan.gpus_per_rank == 0 || !plan.box || plan.box->entered) return;
  const int wanted = plan.ranks[static_cast<std::size_t>(node)] * plan.gpus_per_rank;
  const auto facts = fit::image_facts("", plan.box->libc, "", {});
  let_in_gpus(named_or_all(gpus_of_node(current_environment(), wanted)), facts, plan.box->environment,
              plan.box->spec, plan.environment);
}

// The box of the plan, with the control page let in.
std::optional<box::Spec> box_of(const Plan& plan, const Control& control) {
  if (!plan.box || plan.box->entered) return {};
  box::Spec spec = plan.box->spec;
  if (control.there()) spec.binds.push_back({control.file(), control_in_the_box, true});
  return spec;
}

std::string control_path(const Plan& plan, const Control& control) {
  if (!control.there()) return {};
  return plan.box && !plan.box->entered ? control_in_the_box : control.path_of_descriptor();
}

class Node {
 public:
  Node(const Plan& plan, int first_rank, std::string name, const std::vector<RankStart>& starts,
       const std::optional<box::Spec>& box, Control& control, Surroundings& surroundings)
      : first_(first_rank),
        name_(std::move(name)),
        around_(surroundings),
        control_(control),
        files_(plan.output, first_, static_cast<int>(starts.size())),
        tails_(starts.size()),
        supervisor_(static_cast<int>(starts.size()), plan.grace),
        // In a box its own working directory is where enter() left us.
        ranks_(starts, box ? &*box : nullptr, plan.directory.string()) {
    order_lines_.feed(around_.orders_begun, [this](std::string_view line) { obey(line); });
    for (const auto& pipes : ranks_.outputs) {
      ::fcntl(pipes.out.get(), F_SETFL, O_NONBLOCK);
      ::fcntl(pipes.err.get(), F_SETFL, O_NONBLOCK);
    }
  }

  Result run();

 private:
  void turn(milliseconds patience);
  void feed(const Input& input);
  void on_events();
  void await_signal();
  void take_signals();
  void read_orders();
  void obey(std::string_view order);
  void ask_for_checkpoint();
  bool read_portion(std::size_t rank, Stream stream);  // false: nothing more for now
  void read_all();
  [[nodiscard]] milliseconds patience() const;
  [[nodiscard]] FailedRank failed_rank();

  int first_;
  std::string name_;
  Surroundings& around_;
  Control& control_;
  RankFiles files_;
  std::vector<Tail> tails_;
  Supervisor supervisor_;
  Ranks ranks_;
  bool gone_ = false;
  bool told_ = false;
  bool orders_open_ = true;
  bool checkpoint_asked_ = false;
  LineSplitter order_lines_;
};

Result Node::run() {
  while (!gone_) {
    turn(patience());
    if (around_.tick) around_.tick();
    if (around_.stop && around_.stop()) feed(StopRequested{});
    if (!checkpoint_asked_ && around_.checkpoint && around_.checkpoint()) ask_for_checkpoint();
    feed(TimePassed{});
  }
  read_all();
  around_.sink.finish();
  flush(around_.sink, around_.interruptions);
  Result result{supervisor_.exit_code(), supervisor_.cause(), {}};
  if (supervisor_.failure()) result.failure = failed_rank();
  return result;
}

milliseconds Node::patience() const {
  auto patience = tick_interval;
  if (const auto wake = supervisor_.wake())
    patience = std::min(patience, std::chrono::ceil<milliseconds>(*wake - std::chrono::steady_clock::now()));
  return std::max(patience, milliseconds(0));
}

// Waits for whatever comes first and deals with it.
void Node::turn(milliseconds patience) {
  Poll poll;
  poll.add(around_.interruptions.fd(), POLLIN, [this] { take_signals(); });
  poll.add(orders_open_ ? around_.orders : -1, POLLIN, [this] { read_orders(); });
  add_outlets(poll, around_.sink);
  if (!is_full(around_.sink)) {
    for (std::size_t rank = 0; rank < ranks_.outputs.size(); ++rank) {
      poll.add(ranks_.outputs[rank].out.get(), POLLIN, [this, rank] { read_portion(rank, Stream::out); });
      poll.add(ranks_.outputs[rank].err.get(), POLLIN, [this, rank] { read_portion(rank, Stream::err); });
    }
  }
  poll.add(ranks_.events(), POLLIN, [this] { on_events(); });
  poll.wait(patience);
}

void Node::on_events() {
  while (const auto event = ranks_.next()) {
    if (std::holds_alternative<AllStarted>(*event)) control_.forget_name();  // the box has it
    if (const auto* ended = std::get_if<OneEnded>(&*event)) {
      if (ended->ending.signal == SIGTERM) await_signal();
      feed(RankEnded{ended->rank, ended->ending});
    }
    if (std::holds_alternative<AllGone>(*event)) {
      gone_ = true;
      return;
    }
  }
}

// A batch system that ends a job signals us and our ranks, one after the other. If a rank is the first to die
// of it, ours is about to come, and the rank did not fail.
void Node::await_signal() {
  Poll poll;
  poll.add(around_.interruptions.fd(), POLLIN, [this] { take_signals(); });
  poll.wait(milliseconds(100));
}

void Node::take_signals() {
  while (const auto number = around_.interruptions.take()) feed(SignalReceived{*number});
}

void Node::read_orders() {
  char buffer[4096];
  const auto got = ::read(around_.orders, buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return obey(stop_order);
  order_lines_.feed({buffer, static_cast<std::size_t>(got)}, [this](std::string_view line) { obey(line); });
}

// A word that is not known can only be from a launcher that is not ours: better to end than to misunderstand.
void Node::obey(std::string_view order) {
  if (order == checkpoint_order) return ask_for_checkpoint();
  orders_open_ = false;
  feed(StopRequested{});
}

void Node::ask_for_checkpoint() {
  if (std::exchange(checkpoint_asked_, true)) return;
  control_.ask_for_checkpoint();
}

void Node::feed(const Input& input) {
  for (const auto& action : supervisor_.step(std::chrono::steady_clock::now(), input))
    ranks_.signal(action.rank, action.number);
  if (supervisor_.failure() && !told_) {
    told_ = true;
    if (around_.failed) around_.failed(failed_rank());
  }
}

bool Node::read_portion(std::size_t rank, Stream stream) {
  auto& pipe = stream == Stream::out ? ranks_.outputs[rank].out : ranks_.outputs[rank].err;
  if (!pipe) return false;
  char buffer[portion];
  const auto got = ::read(pipe.get(), buffer, sizeof buffer);
  if (got == 0) pipe.reset();
  if (got <= 0) return false;
  const std::string_view bytes(buffer, static_cast<std::size_t>(got));
  files_.write(static_cast<int>(rank), stream, bytes);
  if (stream == Stream::err) tails_[rank].feed(bytes);
  around_.sink.take(first_ + static_cast<int>(rank), stream, bytes);
  return true;
}

// What is in the pipes when everybody is gone. A process that escaped may hold one open: its end is not
// waited for.
void Node::read_all() {
  for (std::size_t rank = 0; rank < ranks_.outputs.size(); ++rank)
    for (const Stream stream : {Stream::out, Stream::err})
      while (read_portion(rank, stream))
        if (is_full(around_.sink)) flush(around_.sink, around_.interruptions);
}

FailedRank Node::failed_rank() {
  const auto& failure = *supervisor_.failure();
  const auto rank = static_cast<std::size_t>(failure.rank);
  while (read_portion(rank, Stream::err)) {
  }
  return {first_ + failure.rank, name_, failure.ending, tails_[rank].text()};
}

}  // namespace

std::string FailedRank::sentence() const {
  return fmt::format("rank {} on {} {}", rank, node, ending.sentence());
}

Result run_node(const Plan& for_all, int node, const std::string& node_name, const Rendezvous& rendezvous,
                const Bound* bound, Surroundings& surroundings, int only) {
  const int ranks = only < 0 ? for_all.ranks[static_cast<std::size_t>(node)] : 1;
  if (const auto lack = lack_of_files(open_files_of_this_process(), static_cast<std::uint64_t>(ranks),
                                      !for_all.output.empty()))
    throw Error(Failure::impossible, "{}", *lack);
  Plan plan = for_all;
  let_in_gpus_of_ranks(plan, node);
  Control control;
  const auto box = box_of(plan, control);
  const auto path = control_path(plan, control);
  if (!box) control.forget_name();
  const auto starts = starts_of(plan, node, node_name, rendezvous, bound, path, only);
  return Node(plan, plan.first_rank(node) + std::max(only, 0), node_name, starts, box, control, surroundings)
      .run();
}

}  // namespace longship::launch
