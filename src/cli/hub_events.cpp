// SPDX-License-Identifier: Apache-2.0
#include "hub_events.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "formats/document.h"
#include "net/event_lines.h"

namespace longship::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;
constexpr milliseconds first_pause = 100ms, longest_pause = 1000ms;

class Watch {
 public:
  Watch(const HubClient& hub, launch::Interruptions& interruptions, const Watched& watched)
      : stream_(hub.another()), interruptions_(interruptions), watched_(watched) {}

  void run() {
    look();
    while (!done_) {
      follow();
      if (!done_) pause();
    }
  }

 private:
  void look() {
    const auto patience = watched_.look();
    done_ = !patience;
    changed_ = false;
    // Without the stream the clock is all there is.
    const auto longest = live_ ? patience.value_or(0ms) : std::min(patience.value_or(0ms), pause_);
    if (!live_) pause_ = std::min(pause_ * 5 / 4, longest_pause);
    next_look_ = SteadyClock::now() + longest;
  }

  // Until it is done, or the stream ends.
  void follow() {
    net::EventLines events([this](const net::ServerEvent& event) { take(event); });
    net::Call asked{.path = "/v1/events"};
    asked.sink = [&](std::string_view bytes) {
      if (!std::exchange(live_, true)) changed_ = true;  // whatever happened until now was not told
      pause_ = first_pause;
      events.add(bytes);
    };
    asked.go_on = [this] {
      if (changed_ || interrupted() || SteadyClock::now() >= next_look_) look();
      return !done_;
    };
    try {
      stream_.call(asked);
    } catch (const net::Unreachable& problem) {
      explain("no events from the hub: {}", problem.what());
    }
    live_ = false;
  }

  void take(const net::ServerEvent& event) {
    if (event.kind == "reset") changed_ = true;
    if (event.kind != "job" || changed_) return;
    const auto job = formats::parse_json(event.data, "the hub's event");
    changed_ = watched_.concerns(text_at(job, "id"));
  }

  void pause() {
    pollfd waited{interruptions_.fd(), POLLIN, 0};
    ::poll(&waited, 1, static_cast<int>(pause_.count()));
    look();
  }
  [[nodiscard]] bool interrupted() const {
    pollfd waited{interruptions_.fd(), POLLIN, 0};
    return ::poll(&waited, 1, 0) > 0;
  }

  HubClient stream_;
  launch::Interruptions& interruptions_;
  const Watched& watched_;
  bool done_ = false, live_ = false, changed_ = false;
  milliseconds pause_ = first_pause;
  SteadyClock::time_point next_look_{};
};

}  // namespace

void watch(const HubClient& hub, launch::Interruptions& interruptions, const Watched& watched) {
  Watch(hub, interruptions, watched).run();
}

}  // namespace longship::cli
