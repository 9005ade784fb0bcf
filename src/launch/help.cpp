// SPDX-License-Identifier: Apache-2.0
// The helper on a node, from its first line of input to its last word.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "across.h"
#include "base/error.h"
#include "engine_start.h"
#include "frames.h"
#include "launch.h"
#include "poll.h"
#include "reception.h"

namespace longship::launch {
namespace {

using namespace std::chrono_literals;

// Lines from stdin, one at a time, so that what follows the last one wanted can still be waited for.
class Orders {
 public:
  explicit Orders(Interruptions& interruptions) : interruptions_(interruptions) {}

  std::string line(Sink& sink) {
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        auto found = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return found;
      }
      Poll poll;
      poll.add(interruptions_.fd(), POLLIN, [this] { interruptions_.check(); });
      add_outlets(poll, sink);
      poll.add(0, POLLIN, [this] { read(); });
      poll.wait(1s);
    }
  }
  [[nodiscard]] std::string rest() { return std::move(buffer_); }

 private:
  void read() {
    char bytes[65536];
    const auto got = ::read(0, bytes, sizeof bytes);
    if (got == 0) throw Error("the launcher went away");
    if (got < 0 && errno != EINTR) throw Error::from_errno(errno, "cannot hear the launcher");
    if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
  }
  Interruptions& interruptions_;
  std::string buffer_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

int number_from(const char* name) {
  const auto text = variable(name);
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Which part of the plan is ours.
struct Part {
  int number = 0;  // of this helper
  int node = 0;
  int only = -1;  // of the node's ranks; -1: all
};

Part node_of_this_process(const Plan& plan) {
  if (plan.nodes() == 1) return {};  // also where there is no batch system
  const int node = number_from("SLURM_NODEID");
  if (node < 0 || node >= plan.nodes())
    throw Error("SLURM_NODEID is \"{}\", and the plan has {} nodes", variable("SLURM_NODEID"), plan.nodes());
  return {node, node, -1};
}

// As the launcher of the MPI numbers its tasks.
Part task_of_this_process(const Plan& plan) {
  int rank = -1;
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (rank < 0) rank = number_from(name);
  }
  if (rank < 0 || rank >= plan.size())
    throw Error(
        "the MPI launcher did not tell which of the {} ranks this is: it set neither SLURM_PROCID, "
        "PMIX_RANK, OMPI_COMM_WORLD_RANK nor PMI_RANK",
        plan.size());
  int node = 0;
  while (node + 1 < plan.nodes() && plan.first_rank(node + 1) <= rank) ++node;
  return {rank, node, rank - plan.first_rank(node)};
}

// One box for all ranks of the node, and in it what they need to reach their launcher.
void prepare_box(Plan& plan) {
  if (!plan.mpi || !plan.box || plan.box->entered) return;
  auto& spec = plan.box->spec;
  if (!spec.join.empty()) spec.join += "@" + name_of_this_node();
  for (const auto& bind : box::launcher_directories(current_environment())) spec.binds.push_back(bind);
}

// With several helpers on a machine the starter's pipes would mix what they say.
void come_to_the_launcher() {
  const auto name = variable("LONGSHIP_LAUNCHER");
  if (name.empty()) return;
  ::unsetenv("LONGSHIP_LAUNCHER");  // for us, not for what the ranks may launch
  const Fd socket = reach_launcher(name);
  if (::dup2(socket.get(), 0) < 0 || ::dup2(socket.get(), 1) < 0)
    throw Error::from_errno(errno, "cannot use the connection to the launcher");
}

Ended run_ranks(const Plan& plan, const Part& part, Orders& orders, Interruptions& interruptions,
                FrameSink& sink) {
  const int node = part.number;
  std::optional<Bound> bound;
  if (node == 0) {
    bound = bind_rendezvous(
        address_of_this_node(variable("LONGSHIP_INTERFACE"), variable("SLURM_LAUNCH_NODE_IPADDR")));
    sink.say(node, bound->at);
  }
  const auto rendezvous = rendezvous_from_json(orders.line(sink));
  Surroundings surroundings{interruptions, sink, nullptr};
  surroundings.orders = 0;
  surroundings.orders_begun = orders.rest();
  surroundings.failed = [&](const FailedRank& failed) { sink.say(node, Failed{failed}); };
  const auto result = run_node(plan, part.node, name_of_this_node(), rendezvous, bound ? &*bound : nullptr,
                               surroundings, part.only);
  return {result.cause, result.exit_code};
}

// Until the launcher has heard everything, or is gone, or somebody ends us.
void await_leave(Orders& orders, Sink& sink) {
  try {
    while (orders.line(sink) != leave_order) {
    }
  } catch (const Error&) {
  }
}

}  // namespace

int help(bool entered) {
  come_to_the_launcher();
  Interruptions interruptions;
  Orders orders(interruptions);
  FrameSink sink(1);
  if (entered) forget_engine();
  auto plan = plan_from_json(orders.line(sink));
  if (plan.box) plan.box->entered = entered;
  prepare_box(plan);
  const auto part = plan.mpi ? task_of_this_process(plan) : node_of_this_process(plan);
  const int node = part.number;
  sink.say(node, Hello{name_of_this_node()});
  try {
    sink.say(node, run_ranks(plan, part, orders, interruptions, sink));
  } catch (const Interrupted& stopped) {
    sink.say(node, Ended{Cause::signal, stopped.exit_code()});
  } catch (const Error& error) {
    sink.say(node, Trouble{error.failure(), fmt::format("{}: {}", name_of_this_node(), error.what())});
  }
  flush(sink, interruptions);
  await_leave(orders, sink);
  return 0;
}

}  // namespace longship::launch
