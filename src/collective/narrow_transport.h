// SPDX-License-Identifier: Apache-2.0
// A Transport for all-reduces and reduce-scatters of f32 that sends each value in 16 bits. Schedules know
// nothing of it: they reduce f32, and what they receive is f32 again.
//
// What is sent is rounded at the sender as well, in the very buffer. Of values that are finished the owner so
// keeps what it tells the others; all else that these schedules send is their own to change, because it will
// be overwritten by finished values.
//
// The end of a message is found out by deliver(), which has to be called after the inner transport moved.
#pragma once
#include <list>
#include <vector>

#include "element.h"
#include "transport.h"

namespace longship::collective {

class NarrowTransport final : public Transport {
 public:
  NarrowTransport(Transport& inner, Type as)
      : Transport(inner.rank(), inner.size()), inner_(inner), as_(as) {}

  void send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) override;
  void receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) override;
  bool progress() override;
  bool arm() override { return inner_.arm(); }
  void wait(Instant until) override { inner_.wait(until); }
  void wake() override { inner_.wake(); }
  bool leave() override { return inner_.leave(); }

  // Tells of what has been sent and received; true if there was something.
  bool deliver();

  [[nodiscard]] bool was_used() const { return was_used_; }

 private:
  struct Message {
    std::vector<std::byte> narrowed;
    std::span<std::byte> buffer;  // of a receiver; empty if it is sent
    Completion inner;
    Completion* outer = nullptr;
  };

  using Messages = std::list<Message>;

  Message& begin(Messages& under_way, std::size_t bytes, Completion& completion);
  bool finish_if_done(Messages& under_way, Messages::iterator message);

  Transport& inner_;
  Type as_;
  bool was_used_ = false;
  Messages sent_, expected_;  // under way
  Messages spare_;            // their memory is used again
};

}  // namespace longship::collective
