// SPDX-License-Identifier: Apache-2.0
// All-reduce between ranks that share memory, and the choice how: small tensors and those that other ranks
// cannot reach are copied (staged.h), all others are reduced where they lie (in_place.h).
#pragma once
#include <optional>

#include "in_place.h"
#include "staged.h"

namespace longship::collective {

class Direct {
 public:
  // The tensors are those in the workspace, which is the operation's until it ends.
  Direct(Lane lane, Op op, Workspace& space);
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;

  // First this; then, once all ranks have done it, advance().
  void post();
  // Where its one tensor is, for ranks that meet and bring that along; nothing if it is not to be reduced
  // there.
  [[nodiscard]] std::optional<std::uint64_t> place() const;
  // For those who have no other way to know that they have.
  void tell_posted();
  [[nodiscard]] bool all_posted();
  // As far as it goes now; true when all is done. A rank that holds back leaves reducing to those that do
  // not, and does only what nobody else can do for it.
  bool advance(bool holds_back = false);
  [[nodiscard]] bool is_left_to_others() const { return in_place_ && in_place_->is_left_to_others(); }
  [[nodiscard]] bool found_nan() const;  // in the result; then

 private:
  Lane lane_;
  Op op_;
  Workspace& space_;
  std::optional<InPlace> in_place_;
  std::optional<Staged> staged_;
  bool chosen_ = false;
  std::uint64_t posted_by_all_ = 0;
};

}  // namespace longship::collective
