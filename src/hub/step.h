// SPDX-License-Identifier: Apache-2.0
// What the parts of next() hand to each other: each is one file.
#pragma once
#include <string_view>

#include "event.h"
#include "next.h"
#include "state.h"

namespace longship::hub {

struct Step {
  State& state;
  Moment now;
  Actions& actions;

  void send(LinkId link, message::FromHub message) const {
    if (link != 0) actions.emplace_back(std::in_place_type<Send>, link, std::move(message));
  }
  void close(LinkId link) const { actions.emplace_back(std::in_place_type<Close>, link); }
  void reply(std::uint64_t request, Response response) const {
    actions.emplace_back(std::in_place_type<Reply>, request, std::move(response));
  }
  void site_changed(SiteId site) const { actions.emplace_back(std::in_place_type<SiteAdded>, site); }
};

// lease.cpp: attempts begin and end.
void begin_attempt(const Step& step, JobIndex index, const Place& place);
void apply(const Step& step, SiteId site, const message::Fact& fact);
// The hub concludes that the attempt which holds the lease is gone.
void lose(const Step& step, JobIndex index, std::string_view reason);
// A person does not want the attempt any more; the job gets that state.
void withdraw(const Step& step, JobIndex index, JobState state, std::string_view reason);
[[nodiscard]] message::Assignment assignment_of(const State& state, const Job& job, const Attempt& attempt);

// agents.cpp
void hear(const Step& step, const Heard& heard);
void link_down(const Step& step, LinkId link);
void goodbye(const Step& step, LinkId link, std::string_view reason);

// ask.cpp: questions to agents on behalf of people.
void ask_site(const Step& step, std::uint64_t request, const Caller& caller, const AskSite& asked);
void answered(const Step& step, LinkId link, const message::Answer& answer);
void expire_questions(const Step& step, LinkId gone);  // 0: only those whose time is over

// requests.cpp
void answer_request(const Step& step, const Asked& asked);

// time.cpp
void opened(const Step& step);
void tick(const Step& step);
void note_use(const Step& step, const TokensUsed& used);

}  // namespace longship::hub
