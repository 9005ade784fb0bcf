// SPDX-License-Identifier: Apache-2.0
#include "next.h"

#include "broker.h"
#include "step.h"

namespace longship::hub {
namespace {

struct Apply {
  Step step;
  void operator()(const Asked& asked) const { answer_request(step, asked); }
  void operator()(const LinkUp& up) const { step.state.links[up.link] = {up.caller, none}; }
  void operator()(const LinkDown& down) const { link_down(step, down.link); }
  void operator()(const Heard& heard) const { hear(step, heard); }
  void operator()(const ImagesFound& found) const {
    step.state.images = found.images;
    ++step.state.world;
    step.state.place_wanted = true;
  }
  void operator()(const Condition& condition) const {
    const auto id = step.state.find_site(condition.site);
    if (id == none) return;
    step.state.site(id).condition = condition.sentence;
    step.state.site(id).stirred = true;
  }
  void operator()(const TokensUsed& used) const { note_use(step, used); }
  void operator()(const Opened&) const { opened(step); }
  void operator()(const Tick&) const { tick(step); }
  void operator()(const Assign&) const { place_waiting(step); }
};

}  // namespace

Actions next(State& state, const Event& event, Moment now) {
  Actions actions;
  std::visit(Apply{{state, now, actions}}, event);
  return actions;
}

}  // namespace longship::hub
