// SPDX-License-Identifier: Apache-2.0
// The helper on a node, from its first line of input to its last word.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "across.h"
#include "base/error.h"
#include "frames.h"
#include "launch.h"
#include "poll.h"

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
  [[nodiscard]] bool more() const { return !buffer_.empty(); }

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

int number_of_this_node(const Plan& plan) {
  const auto text = variable("SLURM_NODEID");
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  if (node < 0 || node >= plan.nodes())
    throw Error("SLURM_NODEID is \"{}\", and the plan has {} nodes", text, plan.nodes());
  return node;
}

Ended run_ranks(const Plan& plan, int node, Orders& orders, Interruptions& interruptions, FrameSink& sink) {
  std::optional<Bound> bound;
  if (node == 0) {
    bound = bind_rendezvous(
        address_of_this_node(variable("LONGSHIP_INTERFACE"), variable("SLURM_LAUNCH_NODE_IPADDR")));
    sink.say(node, bound->at);
  }
  const auto rendezvous = rendezvous_from_json(orders.line(sink));
  if (orders.more()) return {Cause::stopped, 128 + SIGTERM};
  Surroundings surroundings{interruptions, sink, nullptr};
  surroundings.orders = 0;
  surroundings.failed = [&](const FailedRank& failed) { sink.say(node, Failed{failed}); };
  const auto result =
      run_node(plan, node, name_of_this_node(), rendezvous, bound ? &*bound : nullptr, surroundings);
  return {result.cause, result.exit_code};
}

}  // namespace

int help() {
  Interruptions interruptions;
  Orders orders(interruptions);
  FrameSink sink(1);
  const auto plan = plan_from_json(orders.line(sink));
  const int node = number_of_this_node(plan);
  sink.say(node, Hello{name_of_this_node()});
  try {
    sink.say(node, run_ranks(plan, node, orders, interruptions, sink));
  } catch (const Interrupted& stopped) {
    sink.say(node, Ended{Cause::signal, stopped.exit_code()});
  } catch (const Error& error) {
    sink.say(node, Trouble{error.failure(), fmt::format("{}: {}", name_of_this_node(), error.what())});
  }
  flush(sink, interruptions);
  return 0;
}

}  // namespace longship::launch
