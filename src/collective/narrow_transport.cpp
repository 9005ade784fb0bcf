// SPDX-License-Identifier: Apache-2.0
#include "narrow_transport.h"

#include "narrow.h"

namespace longship::collective {
namespace {

constexpr std::size_t narrow_width = 2;

std::span<float> floats_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

void NarrowTransport::send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) {
  Message& message = begin(sent_, bytes.size(), completion);
  // See above: the buffer is the schedule's own.
  const auto values = floats_in({const_cast<std::byte*>(bytes.data()), bytes.size()});
  narrow(as_, values, message.narrowed.data());
  widen(as_, message.narrowed.data(), values);
  inner_.send(to, tag, message.narrowed, message.inner);
}

void NarrowTransport::receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) {
  Message& message = begin(expected_, buffer.size(), completion);
  message.buffer = buffer;
  inner_.receive(from, tag, message.narrowed, message.inner);
}

bool NarrowTransport::progress() {
  const bool moved = inner_.progress();
  return deliver() || moved;
}

// There may be thousands that are to be sent: those behind one that waits are told of after it. Of those that
// are expected there are few.
bool NarrowTransport::deliver() {
  bool moved = false;
  while (!sent_.empty() && finish_if_done(sent_, sent_.begin())) moved = true;
  for (auto message = expected_.begin(); message != expected_.end();) {
    const auto current = message++;
    moved = finish_if_done(expected_, current) || moved;
  }
  return moved;
}

NarrowTransport::Message& NarrowTransport::begin(Messages& under_way, std::size_t bytes,
                                                 Completion& completion) {
  was_used_ = true;
  if (spare_.empty()) spare_.emplace_back();
  under_way.splice(under_way.end(), spare_, spare_.begin());
  Message& message = under_way.back();
  message.narrowed.resize(bytes / sizeof(float) * narrow_width);
  message.buffer = {};
  message.inner = {};
  message.outer = &completion;
  return message;
}

bool NarrowTransport::finish_if_done(Messages& under_way, Messages::iterator message) {
  if (!message->inner.done) return false;
  const std::size_t count = message->inner.bytes / narrow_width;
  if (!message->buffer.empty())
    widen(as_, message->narrowed.data(), floats_in(message->buffer.first(count * sizeof(float))));
  *message->outer = {true, count * sizeof(float)};
  spare_.splice(spare_.end(), under_way, message);
  return true;
}

}  // namespace longship::collective
