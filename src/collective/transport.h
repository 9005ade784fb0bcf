// SPDX-License-Identifier: Apache-2.0
// Messages between ranks: the only thing that schedules and the engine know of the world.
// StreamTransport implements it over shared memory and TCP; tests/collective/conformance.h holds it to this
// contract.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"

namespace longship::collective {

// Where the end of a send or a receive is told. It must stay in place until `done`, and so must the buffer.
struct Completion {
  bool done = false;
  std::size_t bytes = 0;  // received: a message may be shorter than the buffer
};

using Tag = std::uint64_t;

// One thread at a time, except for wait() and wake(). What cannot go on (a peer is lost) is thrown by
// progress(), and after that only the destructor may be called.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // Begins to send to another rank; done once the buffer may be changed. Messages of one tag between two
  // ranks stay in order.
  virtual void send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) = 0;

  // Begins to receive the next message of that tag, which may have arrived already.
  virtual void receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) = 0;

  // Moves what can be moved without blocking; true if anything moved.
  virtual bool progress() = 0;

  // From now on whatever arrives ends a wait(). False if something came in the meantime: progress instead of
  // waiting. Who waits for shared memory to change, and not for a message, looks at it once more after
  // arming.
  [[nodiscard]] virtual bool arm() = 0;

  // Sleeps until a message comes, somebody calls wake(), or the time is over. Any thread, no lock needed.
  virtual void wait(Instant until) = 0;

  // Ends the waits of this process, now or the next one. Any thread.
  virtual void wake() = 0;

  // Says that no more will come from this rank, so that its end is no loss. True once that and all that was
  // sent before is out of this process; until then progress and call it again.
  [[nodiscard]] virtual bool leave() = 0;

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_, size_;
};

}  // namespace longship::collective
