// SPDX-License-Identifier: Apache-2.0
// What ranks have agreed on once needs no name any more: it has a number, and a step that is like the one
// before is a range of numbers, however many tensors it has.
//
// Every rank learns from the decisions of rank 0, in their order, so all come to the same numbers without a
// word about them. Rank 0 learns a decision when it sends it, the others when they get it: what a rank says
// by number, rank 0 knows, and what rank 0 says by number about a decision, all know who got those before.
// What is new, or differs in anything, is said in full; nothing has to be taken back.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "request.h"

namespace longship::collective {

class Dictionary {
 public:
  static constexpr std::size_t most_words = 1 << 16;  // a job with ever new names must not fill the memory

  // Only of the world, and only what is the same on all ranks; all else is left alone.
  void learn(const Announcement& announcement);

  [[nodiscard]] std::optional<std::uint32_t> number(const Announcement& announcement) const;
  [[nodiscard]] std::optional<std::uint32_t> number(
      const std::string& name) const;                                  // the latest of that name
  [[nodiscard]] const Announcement& word(std::uint32_t number) const;  // an Error if there is none

 private:
  std::vector<Announcement> words_;
  std::map<std::string, std::uint32_t, std::less<>> latest_;  // by name
};

// What a rank knows by number leaves the text, and comes back.
[[nodiscard]] Report shortened(Report report, const Dictionary& dictionary);
[[nodiscard]] Report spelled_out(Report report, const Dictionary& dictionary);
[[nodiscard]] Decision shortened(Decision decision, const Dictionary& dictionary);
[[nodiscard]] Decision spelled_out(Decision decision, const Dictionary& dictionary);

}  // namespace longship::collective
