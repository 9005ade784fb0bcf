// SPDX-License-Identifier: Apache-2.0
// A site in a temporary directory with the real local batch system, whose pilots do nothing: the test writes
// their logs. And a hub that the test plays.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "agent/agent.h"
#include "agent/in_process.h"
#include "base/file.h"
#include "base/record_log.h"
#include "message/hub_messages.h"
#include "message/spool.h"
#include "papers.h"

namespace longship::agent {

class FakeSite {
 public:
  FakeSite() {
    // As a pilot, but it only waits until it is told.
    write_file(
        pilot_program(),
        "#!/bin/sh\ntouch \"$2/up\"\nwhile [ -d \"$2\" ] && [ ! -e \"$2/end\" ]; do sleep 0.02; done\n",
        0755);
    site.name = "here";
    site.spool = root.path() / "spool";
    site.store = root.path() / "store";
    site.node.arch = "x86_64";
    site.node.cores = 8;
    site.node.memory = std::uint64_t{8} << 30;
    site.queues.push_back({});
    site.queues.front().name = "q";
  }
  ~FakeSite() { end_pilots(); }

  [[nodiscard]] std::filesystem::path pilot_program() const { return root.path() / "pilot"; }
  [[nodiscard]] message::Spool spool() const { return message::Spool(site.spool); }
  [[nodiscard]] Options options(std::function<std::unique_ptr<net::FrameStream>()> connect) const {
    Options made;
    made.site = site;
    made.program = pilot_program();
    made.version = "test";
    made.connect = std::move(connect);
    return made;
  }

  // Names of pilots that are there.
  [[nodiscard]] std::vector<std::string> pilots() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(spool().pilots(), none))
      names.push_back(entry.path().filename().string());
    return names;
  }
  void say(const std::string& pilot, const std::vector<message::FromPilot>& messages) const {
    RecordLogWriter(message::from_pilot(spool().pilot(pilot))).append(message::encode(messages));
  }
  [[nodiscard]] std::vector<message::ToPilot> told(const std::string& pilot) const {
    std::vector<message::ToPilot> all;
    RecordLogReader reader(message::to_pilot(spool().pilot(pilot)));
    while (const auto record = reader.next())
      for (auto& one : message::decode_to_pilot(record->payload)) all.push_back(std::move(one));
    return all;
  }
  void end_pilots() const {
    for (const auto& pilot : pilots()) {
      try {
        write_file(spool().pilot(pilot) / "end", "");
      } catch (const Error&) {
        // it is being removed
      }
    }
  }

  TemporaryDirectory root{"agent-test"};
  site::Site site;
};

// The hub's side of the stream: frames are collected, and waited for.
class FakeHub {
 public:
  std::unique_ptr<net::FrameStream> connect() {
    const std::lock_guard lock(mutex_);
    if (!reachable) throw Error("nobody answers");
    ++connections;
    auto stream = std::make_unique<InProcess>([this](std::string frame) { receive(std::move(frame)); },
                                              [this] {
                                                const std::lock_guard inner(mutex_);
                                                stream_ = nullptr;
                                              });
    stream_ = stream.get();
    return stream;
  }

  void send(const message::FromHub& message) { send_bytes(message::encode(message)); }
  void send_bytes(std::string frame) {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->deliver(std::move(frame));
  }
  [[nodiscard]] bool connected() {
    const std::lock_guard lock(mutex_);
    return stream_ != nullptr;
  }
  void cut() {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->end("cut off");
  }

  // Until it is so, at most ten seconds.
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, std::chrono::seconds(20), condition);
  }
  bool wait_fact(const std::string& words) {
    return wait([&] {
      return std::any_of(facts.begin(), facts.end(),
                         [&](const auto& fact) { return fact.starts_with(words); });
    });
  }

  std::vector<message::Hello> hellos;
  std::vector<std::string> facts;
  std::vector<message::Alive> alives;
  std::vector<message::Fetch> fetches;
  std::vector<message::Answer> answers;
  std::map<std::string, std::string> blobs;  // by digest
  message::Want wanted;
  std::uint64_t seen = 0;
  bool reachable = true;
  bool serves = true;  // Fetch
  int connections = 0;

 private:
  void receive(std::string frame) {
    const auto message = message::decode_from_agent(frame);
    const std::lock_guard lock(mutex_);
    const auto reply = [&](const message::FromHub& one) {
      if (stream_ != nullptr) stream_->deliver(message::encode(one));
    };
    if (const auto* hello = std::get_if<message::Hello>(&message)) {
      hellos.push_back(*hello);
      reply(message::Welcome{seen});
      reply(wanted);
    }
    if (const auto* batch = std::get_if<message::Facts>(&message)) {
      EXPECT_LE(batch->first, seen) << "a gap";
      for (std::size_t i = 0; i < batch->facts.size(); ++i)
        if (batch->first + i >= seen) facts.push_back(World::in_words(batch->facts[i]));
      seen = std::max(seen, batch->first + batch->facts.size());
      reply(message::Seen{seen});
    }
    if (const auto* alive = std::get_if<message::Alive>(&message)) alives.push_back(*alive);
    if (const auto* answer = std::get_if<message::Answer>(&message)) answers.push_back(*answer);
    if (const auto* fetch = std::get_if<message::Fetch>(&message)) {
      fetches.push_back(*fetch);
      const auto blob = blobs.find(fetch->digest);
      if (!serves) {
      } else if (blob == blobs.end()) {
        reply(message::Chunk{fetch->id, "there is no such blob", {}});
      } else {
        reply(message::Chunk{fetch->id, {}, blob->second.substr(fetch->offset, fetch->length)});
      }
    }
    arrived_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  InProcess* stream_ = nullptr;
};

// An agent in a thread of its own.
class RunningAgent {
 public:
  RunningAgent(const FakeSite& site, FakeHub& hub)
      : agent_(std::make_unique<Agent>(site.options([&hub] { return hub.connect(); }))),
        thread_([this](std::stop_token stop) { agent_->run(std::move(stop)); }) {}
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    agent_.reset();
  }
  ~RunningAgent() { stop(); }

 private:
  std::unique_ptr<Agent> agent_;
  std::jthread thread_;
};

inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace longship::agent
