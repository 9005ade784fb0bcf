// SPDX-License-Identifier: Apache-2.0
// The messages by which ranks agree: reports to rank 0, decisions from it.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "dictionary.h"
#include "request.h"
#include "transport.h"

namespace longship::collective {

class Postman {
 public:
  explicit Postman(Transport& transport);

  void report(Report report);
  void tell(std::span<const int> ranks, Decision decision);  // by rank 0, itself left out

  // Of a decision of the world to do something, by every rank, after it was told or read.
  void learn(const Announcement& announcement) { dictionary_.learn(announcement); }

  [[nodiscard]] Report read_report(std::span<const std::byte> bytes) const;
  [[nodiscard]] Decision read_decision(std::span<const std::byte> bytes) const;

  // Calls work(from, bytes) for each message that has come; true if there was one.
  template <class Work>
  bool hear(Work work) {
    bool heard = false;
    for (auto& incoming : incoming_) {
      while (incoming.completion.done) {
        work(incoming.from, std::span<const std::byte>(incoming.buffer).first(incoming.completion.bytes));
        listen(incoming);
        heard = true;
      }
    }
    return heard;
  }

  bool forget_sent();  // true if there was something
  [[nodiscard]] bool all_sent() const { return outgoing_.empty(); }

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::deque<Completion> completions;
  };
  struct Incoming {
    int from = 0;
    std::vector<std::byte> buffer;
    Completion completion;
  };

  void send(std::span<const int> ranks, Tag tag, std::vector<std::byte> bytes);
  void listen(Incoming& incoming);

  Transport& transport_;
  Dictionary dictionary_;
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
};

// Tags below are for agreement; each operation has its own above.
inline constexpr Tag first_operation_tag = 16;

}  // namespace longship::collective
