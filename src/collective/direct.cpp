// SPDX-License-Identifier: Apache-2.0
#include "direct.h"

#include "schedules.h"

namespace longship::collective {
namespace {

// Up to here a copy into the stage takes less than a second meeting of the ranks.
constexpr std::size_t staged_up_to = 4 * 1024;

// Many small tensors are quicker copied than posted.
constexpr std::size_t least_mean_bytes = 2048;

bool worth_posting(const Pieces& pieces) {
  const std::size_t bytes = total_count(pieces) * size_of(pieces.front().type);
  return bytes > staged_up_to && pieces.size() <= Post::most_pieces &&
         bytes / pieces.size() >= least_mean_bytes;
}

}  // namespace

Direct::Direct(Lane lane, Pieces pieces, Op op) : lane_(lane), pieces_(std::move(pieces)), op_(op) {
  std::erase_if(pieces_, [](const Values& piece) { return piece.count == 0; });
  if (!pieces_.empty() && worth_posting(pieces_)) in_place_.emplace(lane_, pieces_, op_);
}

void Direct::post() {
  if (!in_place_) return;
  in_place_->post();
  lane_.publish(&LaneRank::posted, in_place_->post_number());
}

bool Direct::all_posted() {
  return !in_place_ || lane_.all_have(&LaneRank::posted, posted_by_all_, in_place_->post_number());
}

bool Direct::advance(bool holds_back) {
  if (pieces_.empty()) return true;
  if (!chosen_) {
    chosen_ = true;
    if (in_place_ && !in_place_->possible()) in_place_.reset();
    if (!in_place_) staged_.emplace(lane_, pieces_, op_);
  }
  return in_place_ ? in_place_->advance(holds_back) : staged_->advance();
}

bool Direct::found_nan() const {
  if (pieces_.empty()) return false;
  return in_place_ ? in_place_->found_nan() : staged_->found_nan();
}

Schedule direct_allreduce(Lane lane, Pieces pieces, Op op, bool* found_nan, Restraint* restraint) {
  if (pieces.empty()) co_return;
  Direct direct(lane, std::move(pieces), op);
  direct.post();
  while (!direct.all_posted()) co_await pause;
  for (bool done = false; !done;) {
    done = direct.advance(restraint != nullptr && *restraint->holds_back);
    if (restraint != nullptr) restraint->is_left_to_others = direct.is_left_to_others();
    if (!done) co_await pause;
  }
  if (found_nan != nullptr) *found_nan = direct.found_nan();
}

}  // namespace longship::collective
