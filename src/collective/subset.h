// SPDX-License-Identifier: Apache-2.0
// Some ranks of a transport, numbered anew: what a schedule of a process set or of a node's ranks sees. Tags
// are those of the whole, so two subsets must not use one at the same time; errors name ranks of the whole.
#pragma once
#include <algorithm>
#include <vector>

#include "transport.h"

namespace longship::collective {

class Subset final : public Transport {
 public:
  // `ranks` ascend, and the transport's own is one of them.
  Subset(Transport& whole, std::vector<int> ranks)
      : Transport(place_in(ranks, whole.rank()), static_cast<int>(ranks.size())),
        whole_(whole),
        ranks_(std::move(ranks)) {}

  void send(int to, Tag tag, std::span<const std::byte> bytes, Completion& completion) override {
    whole_.send(ranks_[static_cast<std::size_t>(to)], tag, bytes, completion);
  }
  void receive(int from, Tag tag, std::span<std::byte> buffer, Completion& completion) override {
    whole_.receive(ranks_[static_cast<std::size_t>(from)], tag, buffer, completion);
  }
  bool progress() override { return whole_.progress(); }
  bool arm() override { return whole_.arm(); }
  void wait(Instant until) override { whole_.wait(until); }
  void wake() override { whole_.wake(); }
  bool leave() override { return whole_.leave(); }

  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

 private:
  static int place_in(const std::vector<int>& ranks, int rank) {
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  Transport& whole_;
  std::vector<int> ranks_;
};

}  // namespace longship::collective
