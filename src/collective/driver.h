// SPDX-License-Identifier: Apache-2.0
// Who steps the engine. A thread of ours does in the background, so that gradients are reduced while the
// backward pass runs; a caller that has to wait anyway takes its seat and steps itself, which saves two
// wake-ups per operation. If it takes long the caller goes to sleep, and the background thread tells it when
// something is done.
//
// The seat is a mutex. Nobody holds it while asleep: the background thread usually sits in Transport::wait()
// and stays there while a caller drives. Whoever leaves the seat arms the transport, so that the next message
// wakes that thread.
//
// When every thread that ever waited here does so for a while, nobody is left who could ask for what other
// ranks may be waiting for, and the engine is told: that is how ranks that wait for each other are found.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine.h"
#include "shortcut.h"

namespace longship::collective {

class Driver {
 public:
  // `crowded`: there are more ranks on this node than cores, so that whoever spins must let others run.
  // `shortcut`: for those who wait; null if there is none.
  Driver(Transport& transport, Engine& engine, bool crowded, Shortcut* shortcut = nullptr);
  ~Driver();  // stops the thread; leaves first, if leave() was not called
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] Handle submit(Request request);  // begun in the background
  [[nodiscard]] bool finished(Handle handle);
  [[nodiscard]] Result wait(Handle handle);
  [[nodiscard]] Result run(Request request);  // both, without waking the background thread

  [[nodiscard]] std::uint64_t reductions_with_nan();
  [[nodiscard]] std::string schedules();

  void use_device(int set, std::shared_ptr<DeviceGroup> device);  // see Engine

  // Says goodbye and waits until what was sent is on its way, or the time is over.
  void leave(Duration patience);

 private:
  class Wait;
  struct Waiter {
    std::thread::id id;
    std::weak_ptr<const char> life;  // ends with the thread
  };

  void background();
  void sit_until_finished(Handle handle, std::unique_lock<std::mutex>& seat);
  void note_nan(const std::string& name);
  void remember_this_thread();
  void tell_if_all_wait();
  bool step();
  bool rest();
  [[nodiscard]] Instant wake_up_time() const;

  Transport& transport_;
  Engine& engine_;
  bool crowded_;
  Shortcut* shortcut_;
  std::mutex seat_;
  std::condition_variable progress_;  // something moved, and there are sleepers
  int sleepers_ = 0;
  std::vector<Waiter> waiters_;  // threads that have waited
  std::vector<Handle> awaited_;  // what they wait for now
  Instant background_until_{};   // how long the background thread sleeps if nothing happens
  std::atomic<bool> stop_ = false;
  bool left_ = false;
  std::thread thread_;
};

}  // namespace longship::collective
