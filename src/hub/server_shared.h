// SPDX-License-Identifier: Apache-2.0
// What the connections of the server share, and how the hub's thread reaches them. A part of server.cpp.
//
// The hub calls back from its own thread, perhaps after the server is gone: callbacks go through the Gate,
// which closes first.
#pragma once
#include "net/any_stream.h"  // first: see there

#include <atomic>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <list>
#include <mutex>
#include <optional>

#include "http_events.h"
#include "server.h"

namespace longship::hub::http {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::awaitable;
using asio::use_awaitable;
using boost::system::error_code;
using net::AnyStream;
using net::noting;
using Executor = AnyStream::executor_type;
using Timer = asio::steady_timer;

// Between the hub's thread and ours. Nothing of a context that is gone is touched: whom it concerns is only
// looked for while the gate is open.
class Gate {
 public:
  // `work` runs on the strand of `somebody`, if that is still there.
  template <class Somebody, class Work>
  void post(const std::weak_ptr<Somebody>& somebody, Work&& work) {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
    if (auto found = somebody.lock())
      asio::post(found->executor, [found, done = std::forward<Work>(work)]() mutable { done(*found); });
  }
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

 private:
  std::mutex mutex_;
  bool open_ = true;
};

// Somebody who waits on a strand until the hub has something.
struct Waiter {
  explicit Waiter(const Executor& e) : executor(e), timer(e) {}
  const Executor executor;
  Timer timer;
  std::optional<Response> response;
};

// What all connections share.
struct Shared {
  Shared(Hub& h, const ServerOptions& o)
      : hub(h),
        options(o),
        gate(std::make_shared<Gate>()),
        ring(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / 1ms)) {}

  Hub& hub;
  const ServerOptions options;
  const std::shared_ptr<Gate> gate;
  EventRing ring;
  std::vector<std::string> names;
  std::mutex mutex;
  std::list<std::weak_ptr<Waiter>> watchers;  // of the ring
  std::atomic<std::size_t> connections = 0;

  void happened(std::string_view kind, std::string_view json) {
    ring.add(kind, json);
    const std::lock_guard lock(mutex);
    // A watcher is taken off the list when it is woken, so that a thousand events wake it once.
    for (const auto& watcher : watchers) gate->post(watcher, [](Waiter& waiter) { waiter.timer.cancel(); });
    watchers.clear();
  }
  void watch(const std::shared_ptr<Waiter>& waiter) {
    const std::lock_guard lock(mutex);
    watchers.remove_if([](const auto& weak) { return weak.expired(); });
    watchers.push_back(waiter);
  }
};

// --- agents ---

inline constexpr std::size_t most_queued = std::size_t{64} << 20;  // bytes to an agent that does not read

// Frames to an agent that wait until they are written; lives with its connection.
struct Outbox {
  explicit Outbox(const Executor& e) : executor(e), more(e) {}
  const Executor executor;
  Timer more;
  std::deque<std::string> frames;
  std::size_t bytes = 0;
  bool closing = false;

  void close() {
    closing = true;
    more.cancel();
  }

  // Until it is closed, or the agent does not read: it will have to connect again. Closes the socket, which
  // ends the reading too.
  awaitable<void> write(websocket::stream<AnyStream>& socket) {
    error_code problem;
    while (!problem && bytes < most_queued) {
      if (frames.empty()) {
        if (closing) break;
        more.expires_at(Timer::time_point::max());
        error_code woken;
        co_await more.async_wait(noting(woken));
        continue;
      }
      const std::string frame = std::move(frames.front());
      frames.pop_front();
      bytes -= frame.size();
      co_await socket.async_write(asio::buffer(frame), noting(problem));
    }
    if (socket.is_open()) co_await socket.async_close(websocket::close_code::normal, noting(problem));
  }
};

// What the hub has of it.
class SocketLink final : public AgentLink {
 public:
  SocketLink(const std::shared_ptr<Outbox>& outbox, std::shared_ptr<Gate> gate)
      : outbox_(outbox), gate_(std::move(gate)) {}
  void send(std::string frame) override {
    gate_->post(outbox_, [sent = std::move(frame)](Outbox& outbox) mutable {
      outbox.bytes += sent.size();
      outbox.frames.push_back(std::move(sent));
      outbox.more.cancel();
    });
  }
  void close() override {
    gate_->post(outbox_, [](Outbox& outbox) { outbox.close(); });
  }

 private:
  const std::weak_ptr<Outbox> outbox_;
  const std::shared_ptr<Gate> gate_;
};

struct Linked {
  Hub& hub;
  Hub::LinkId id;
  ~Linked() { hub.disconnect(id); }
};

}  // namespace longship::hub::http
