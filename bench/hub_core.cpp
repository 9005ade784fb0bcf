// SPDX-License-Identifier: Apache-2.0
// The hub without HTTP: no-op tasks per second from submission to durable commit, carried out by an agent in
// the same process that answers at once, and what a million waiting jobs cost.
//
//   hub_core [TASKS] [WAITING]
#include <fmt/core.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "hub/hub.h"

namespace longship::hub {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
}

// Every attempt it gets has started and ended.
class FakeAgent final : public AgentLink {
 public:
  explicit FakeAgent(Hub& hub) : hub_(hub), thread_([this] { work(); }) {}
  ~FakeAgent() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void send(std::string frame) override {
    {
      const std::lock_guard lock(mutex_);
      frames_.push_back(std::move(frame));
    }
    wake_.notify_one();
  }
  void close() override {}
  void start(Hub::LinkId link) {
    link_ = link;
    message::Hello hello;
    hello.site = "bench";
    hello.outbox = "bench";
    hello.site_file =
        "version = 1\nname = \"bench\"\nbatch = \"local\"\nspool = \"/tmp\"\n[node]\narch = "
        "\"x86_64\"\ncores = 4\n"
        "[[queue]]\nname = \"all\"\n";
    hub_.receive(link_, message::encode(message::FromAgent(hello)));
  }
  void wait_for(std::uint64_t done) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return durable_ >= done; });
  }

 private:
  void work() {
    for (;;) {
      std::vector<std::string> frames;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || !frames_.empty(); });
        if (stopping_) return;
        frames.swap(frames_);
      }
      for (const auto& frame : frames) hear(message::decode_from_hub(frame));
    }
  }
  void hear(const message::FromHub& message) {
    if (const auto* seen = std::get_if<message::Seen>(&message)) {
      const std::lock_guard lock(mutex_);
      durable_ = seen->seen / 2;
      finished_.notify_all();
    }
    const auto* carry = std::get_if<message::Carry>(&message);
    if (carry == nullptr) return;
    message::Facts facts;
    facts.first = next_;
    for (const auto& one : carry->assignments) {
      message::Ended ended;
      ended.attempt = one.attempt;
      facts.facts.push_back(message::Started{one.attempt, "p0", 1, {"node"}});
      facts.facts.push_back(std::move(ended));
    }
    next_ += facts.facts.size();
    hub_.receive(link_, message::encode(message::FromAgent(std::move(facts))));
  }

  Hub& hub_;
  Hub::LinkId link_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::vector<std::string> frames_;
  bool stopping_ = false;
  std::uint64_t next_ = 0, durable_ = 0;
  std::thread thread_;
};

Response ask(Hub& hub, Request request) {
  std::promise<Response> promise;
  hub.perform(*hub.caller(hub.owner_token()), std::move(request),
              [&](Response r) { promise.set_value(std::move(r)); });
  return promise.get_future().get();
}

Submit noop(int count) {
  Submit submit;
  submit.job = R"({"version": 1, "name": "noop", "command": ["true"]})";
  submit.count = count;
  return submit;
}

void measure(int tasks, int waiting) {
  const TemporaryDirectory directory("longship-bench");
  const Options options{directory.path() / "hub", directory.path() / "images"};
  {
    Hub hub(options);
    const auto agent = std::make_shared<FakeAgent>(hub);
    agent->start(hub.connect(*hub.caller(hub.owner_token()), agent));
    const auto begin = Clock::now();
    (void)ask(hub, noop(tasks));
    agent->wait_for(static_cast<std::uint64_t>(tasks));
    const auto time = seconds_since(begin);
    fmt::print("{} no-op tasks, submitted to durable: {:.2f} s, {:.0f} tasks/s\n", tasks, time, tasks / time);
  }
  const Options fresh{directory.path() / "waiting", directory.path() / "images"};
  {
    Hub hub(fresh);
    const auto before = resident_megabytes();
    const auto begin = Clock::now();
    const auto answer = ask(hub, noop(waiting)).body.size();
    fmt::print("{} waiting: submitted in {:.2f} s (the answer has {:.0f} MB), {:.0f} MB\n", waiting,
               seconds_since(begin), static_cast<double>(answer) / 1e6, resident_megabytes() - before);
  }
  const auto begin = Clock::now();
  Hub hub(fresh);
  fmt::print("restart with {} waiting: {:.2f} s\n", waiting, seconds_since(begin));
}

}  // namespace
}  // namespace longship::hub

int main(int count, char** arguments) {
  const auto number = [&](int at, int fallback) { return count > at ? std::atoi(arguments[at]) : fallback; };
  longship::hub::measure(number(1, 200'000), number(2, 1'000'000));
}
