// SPDX-License-Identifier: Apache-2.0
#include "direct.h"

#include "schedules.h"
#include "segment.h"

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

Direct::Direct(Lane lane, Op op, Workspace& space) : lane_(lane), op_(op), space_(space) {
  std::erase_if(space_.pieces, [](const Values& piece) { return piece.count == 0; });
  if (!space_.pieces.empty() && worth_posting(space_.pieces)) in_place_.emplace(lane_, op_, space_);
}

void Direct::post() {
  if (!in_place_) return;
  in_place_->post();
  lane_.own().posted.store(in_place_->post_number(), std::memory_order_release);
}

std::optional<std::uint64_t> Direct::place() const {
  if (!in_place_ || space_.pieces.size() != 1) return {};
  return lane_.own().post.where[0];
}

void Direct::tell_posted() {
  if (in_place_) lane_.segment.ring_if_sleeping(lane_.node_ranks);
}

bool Direct::all_posted() {
  return !in_place_ || lane_.all_have(&LaneRank::posted, posted_by_all_, in_place_->post_number());
}

bool Direct::advance(bool holds_back) {
  if (space_.pieces.empty()) return true;
  if (!chosen_) {
    chosen_ = true;
    if (in_place_ && !in_place_->possible()) in_place_.reset();
    if (!in_place_) staged_.emplace(lane_, space_.pieces, op_);
  }
  return in_place_ ? in_place_->advance(holds_back) : staged_->advance();
}

bool Direct::found_nan() const {
  if (space_.pieces.empty()) return false;
  return in_place_ ? in_place_->found_nan() : staged_->found_nan();
}

Schedule direct_allreduce(Lane lane, Pieces pieces, Op op, bool* found_nan, Restraint* restraint) {
  if (pieces.empty()) co_return;
  Workspace space;
  space.pieces = std::move(pieces);
  Direct direct(lane, op, space);
  direct.post();
  direct.tell_posted();
  while (!direct.all_posted()) co_await pause;
  for (bool done = false; !done;) {
    done = direct.advance(restraint != nullptr && *restraint->holds_back);
    if (restraint != nullptr) restraint->is_left_to_others = direct.is_left_to_others();
    if (!done) co_await pause;
  }
  if (found_nan != nullptr) *found_nan = direct.found_nan();
}

}  // namespace longship::collective
