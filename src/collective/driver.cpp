// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "relax.h"

namespace longship::collective {
namespace {

// A blocking wake-up across cores costs some 70 µs: worth spinning for about as long. Each idle round of the
// engine takes about 0.1 µs.
constexpr unsigned caller_spins = 2000;
// Another rank may have been put on this core, whatever the launcher says.
constexpr unsigned rounds_before_yield = 3;
// The background thread shares its core with the training: it spins only a little, and only within an
// operation.
constexpr unsigned background_spins = 200;
// With more ranks than cores nobody gains by waiting on a core that the other needs.
constexpr unsigned crowded_spins = 20;

// So long must all wait until it may be a standstill: a message then costs nothing that counts.
constexpr auto standstill_after = std::chrono::milliseconds(100);

constexpr Duration longest_sleep = std::chrono::minutes(1);

Instant now() {
  return std::chrono::steady_clock::now();
}

// What the word in shared memory can say; all else, and what is refused, is for the engine.
bool may_take_shortcut(const Announcement& what) {
  const bool is_plain = what.set == 0 && what.group.empty() && what.prescale == 1 && what.postscale == 1 &&
                        what.op != Op::adasum && what.type != Type::boolean && !what.device;
  return (what.kind == Kind::allreduce || what.kind == Kind::barrier) && is_plain && !what.name.empty() &&
         what.name.size() <= longest_name;
}

// Signals are the training process's own business: ours never runs its handlers.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Something that ends with the calling thread.
std::weak_ptr<const char> life_of_this_thread() {
  thread_local const std::shared_ptr<const char> life = std::make_shared<char>();
  return life;
}

}  // namespace

// A thread while it waits. It holds the seat at both ends.
class Driver::Wait {
 public:
  Wait(Driver& driver, Handle handle) : driver_(driver), handle_(handle) {
    driver_.remember_this_thread();
    driver_.awaited_.push_back(handle);
    driver_.engine_.let_reduce(true);
  }
  ~Wait() {
    driver_.awaited_.erase(std::find(driver_.awaited_.begin(), driver_.awaited_.end(), handle_));
    driver_.engine_.stand_still({});
    driver_.engine_.let_reduce(!driver_.awaited_.empty());
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  Driver& driver_;
  Handle handle_;
};

Driver::Driver(Transport& transport, Engine& engine, bool crowded, Shortcut* shortcut)
    : transport_(transport), engine_(engine), crowded_(crowded), shortcut_(shortcut) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { background(); });
  ::pthread_setname_np(thread_.native_handle(), "longship");
}

Driver::~Driver() {
  leave(std::chrono::seconds(1));
  stop_ = true;
  transport_.wake();
  thread_.join();
}

Handle Driver::submit(Request request) {
  const Handle handle = engine_.submit(std::move(request), now());
  transport_.wake();
  return handle;
}

bool Driver::finished(Handle handle) {
  // Whoever has the seat moves it on; it is not worth waiting for.
  const std::unique_lock seat(seat_, std::try_to_lock);
  if (!seat) return false;
  engine_.let_reduce(true);  // to ask again and again is to wait
  do static_cast<void>(step());
  while (!rest());
  engine_.let_reduce(!awaited_.empty());
  return engine_.finished(handle);
}

Result Driver::run(Request request) {
  if (shortcut_ != nullptr && may_take_shortcut(request.what)) {
    const auto outcome = shortcut_->run(request.what, request.data);
    if (outcome == Shortcut::Outcome::done_with_nan) note_nan(request.what.name);
    if (outcome != Shortcut::Outcome::not_done) return {};
  }
  return wait(engine_.submit(std::move(request), now()));
}

void Driver::note_nan(const std::string& name) {
  const std::lock_guard seat(seat_);
  engine_.note_nan(name);
}

Result Driver::wait(Handle handle) {
  std::unique_lock seat(seat_);
  {
    const Wait waiting(*this, handle);
    sit_until_finished(handle, seat);
  }
  Result result = engine_.take(handle);
  while (!rest()) static_cast<void>(step());
  return result;
}

void Driver::sit_until_finished(Handle handle, std::unique_lock<std::mutex>& seat) {
  const unsigned spins = crowded_ ? crowded_spins : caller_spins;
  for (unsigned idle = 0;;) {
    const bool moved = step();
    if (engine_.finished(handle)) return;
    if (moved) {
      idle = 0;
    } else if (++idle < spins) {
      crowded_ || idle > rounds_before_yield ? static_cast<void>(::sched_yield()) : relax();
    } else if (rest()) {
      idle = 0;
      ++sleepers_;
      const bool nothing_moved = progress_.wait_for(seat, standstill_after) == std::cv_status::timeout;
      --sleepers_;
      if (nothing_moved) tell_if_all_wait();
    }
  }
}

void Driver::remember_this_thread() {
  const auto self = std::this_thread::get_id();
  const auto known = std::find_if(waiters_.begin(), waiters_.end(),
                                  [&](const Waiter& one) { return one.id == self && !one.life.expired(); });
  if (known != waiters_.end()) return;
  std::erase_if(waiters_, [](const Waiter& one) { return one.life.expired(); });
  waiters_.push_back({self, life_of_this_thread()});
}

void Driver::tell_if_all_wait() {
  std::erase_if(waiters_, [](const Waiter& one) { return one.life.expired(); });
  if (awaited_.size() == waiters_.size()) engine_.stand_still(awaited_);
}

std::uint64_t Driver::reductions_with_nan() {
  const std::lock_guard seat(seat_);
  return engine_.reductions_with_nan();
}

std::string Driver::schedules() {
  const std::lock_guard seat(seat_);
  return engine_.schedules();
}

void Driver::use_device(int set, std::shared_ptr<DeviceGroup> device) {
  const std::lock_guard seat(seat_);
  engine_.use_device(set, std::move(device));
}

void Driver::leave(Duration patience) {
  const std::unique_lock seat(seat_);
  if (std::exchange(left_, true)) return;
  engine_.leave();
  engine_.let_reduce(true);
  const Instant until = now() + std::chrono::duration_cast<Instant::duration>(patience);
  while (!engine_.left() && now() < until) {
    if (step()) continue;
    if (rest()) transport_.wait(std::min(until, now() + std::chrono::milliseconds(10)));
  }
}

void Driver::background() {
  while (!stop_) {
    std::unique_lock seat(seat_);
    const bool spins = engine_.running() && !crowded_ && !engine_.holds_back();
    for (unsigned idle = 0; idle < (spins ? background_spins : 1);) idle = step() ? 0 : idle + 1;
    if (engine_.failed()) return;  // nothing will come any more, and whoever asks is told at once
    if (!rest()) continue;
    background_until_ = wake_up_time();
    const Instant until = background_until_;
    seat.unlock();
    transport_.wait(until);
  }
}

bool Driver::step() {
  const bool moved = engine_.step(now());
  if (moved && sleepers_ > 0) progress_.notify_all();
  return moved;
}

// Not to be able to rest means that something moved, or that all is over.
bool Driver::rest() {
  const bool resting = engine_.rest(now());
  if (!resting && sleepers_ > 0) progress_.notify_all();
  if (resting && wake_up_time() < background_until_)
    transport_.wake();  // a new deadline, which it does not know of
  return resting;
}

Instant Driver::wake_up_time() const {
  const Instant latest = now() + std::chrono::duration_cast<Instant::duration>(longest_sleep);
  return std::min(latest, engine_.deadline().value_or(latest));
}

}  // namespace longship::collective
