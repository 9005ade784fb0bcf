// SPDX-License-Identifier: Apache-2.0
#include "postman.h"

#include <algorithm>

namespace longship::collective {
namespace {

constexpr Tag report_tag = 0;
constexpr Tag decision_tag = 1;

}  // namespace

Postman::Postman(Transport& transport) : transport_(transport) {
  if (transport_.rank() == 0)
    for (int peer = 1; peer < transport_.size(); ++peer) incoming_.emplace_back().from = peer;
  else
    incoming_.emplace_back();  // from rank 0
  for (auto& incoming : incoming_) listen(incoming);
}

void Postman::report(Report report) {
  const int first[] = {0};
  send(first, report_tag, encoded(shortened(std::move(report), dictionary_)));
}

void Postman::tell(std::span<const int> ranks, Decision decision) {
  send(ranks, decision_tag, encoded(shortened(std::move(decision), dictionary_)));
}

Report Postman::read_report(std::span<const std::byte> bytes) const {
  return spelled_out(decoded_report(bytes), dictionary_);
}

Decision Postman::read_decision(std::span<const std::byte> bytes) const {
  return spelled_out(decoded_decision(bytes), dictionary_);
}

void Postman::send(std::span<const int> ranks, Tag tag, std::vector<std::byte> bytes) {
  auto& message = outgoing_.emplace_back();
  message.bytes = std::move(bytes);
  for (const int rank : ranks)
    if (rank != transport_.rank())
      transport_.send(rank, tag, message.bytes, message.completions.emplace_back());
}

bool Postman::forget_sent() {
  const auto is_sent = [](const Outgoing& message) {
    return std::all_of(message.completions.begin(), message.completions.end(),
                       [](const auto& one) { return one.done; });
  };
  bool moved = false;
  for (; !outgoing_.empty() && is_sent(outgoing_.front()); moved = true) outgoing_.pop_front();
  return moved;
}

void Postman::listen(Incoming& incoming) {
  incoming.buffer.resize(longest_message + static_cast<std::size_t>(transport_.size()) * said_per_rank);
  incoming.completion = {};
  transport_.receive(incoming.from, transport_.rank() == 0 ? report_tag : decision_tag, incoming.buffer,
                     incoming.completion);
}

}  // namespace longship::collective
