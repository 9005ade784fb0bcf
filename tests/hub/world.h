// SPDX-License-Identifier: Apache-2.0
// The hub's state machine with people and agents around it, for tests: time passes when told to, and all
// invariants are checked after each event.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "formats/digest.h"
#include "formats/document.h"
#include "hub/invariants.h"
#include "hub/next.h"
#include "hub/secrets.h"

namespace longship::hub {

inline std::string site_text(const std::string& name, const std::string& more = "") {
  return "version = 1\nname = \"" + name + "\"\nbatch = \"slurm\"\nspool = \"/spool\"\n" +
         "[node]\narch = \"x86_64\"\ncores = 8\nmemory = \"64GiB\"\n" +
         "[[queue]]\nname = \"general\"\nmax_nodes = 16\nmax_walltime = \"48h\"\nmax_queued = 2\n" + more;
}

inline std::shared_ptr<const Spec> spec_of(const std::string& json) {
  auto spec = std::make_shared<Spec>();
  spec->job = job::from_json(json, "job");
  spec->json = json;
  spec->digest = formats::digest_of(json);
  return spec;
}

// {"needs": {…}} and the like may be given; name and command need not.
inline std::string job_json(const std::string& name = "digits", const std::string& more = "") {
  return "{\"version\": 1, \"name\": \"" + name + "\", \"command\": [\"true\"]" +
         (more.empty() ? "" : ", " + more) + "}";
}

class World {
 public:
  World() {
    state.owner = "anna";
    state.last_tick = now;
  }

  State state;
  Moment now{std::chrono::seconds(1'800'000'000)};
  std::map<std::uint64_t, Response> replies;
  std::map<LinkId, std::vector<message::FromHub>> sent;
  std::vector<LinkId> closed;

  void happen(const Event& event) {
    for (auto& action : next(state, event, now)) keep(action);
    const auto wrong = invariants(state);
    EXPECT_TRUE(wrong.empty()) << testing::PrintToString(wrong);
  }
  void settle() { happen(Assign{}); }
  void pass(std::chrono::seconds time, std::chrono::seconds step = std::chrono::seconds(5)) {
    for (auto done = std::chrono::seconds(0); done < time; done += step) {
      now += std::min(step, time - done);
      happen(Tick{});
      settle();
    }
  }

  // --- people ---
  Response ask(Request request, const Caller& caller = {"anna", "", ""}, const std::string& json = "") {
    Asked asked;
    asked.id = ++last_request_;
    asked.caller = caller;
    if (auto* submit = std::get_if<Submit>(&request)) asked.spec = spec_of(json.empty() ? submit->job : json);
    asked.request = std::move(request);
    asked.secret = "secret" + std::to_string(asked.id);
    happen(asked);
    settle();
    if (!replies.contains(asked.id)) replies[asked.id].status = 0;  // it will come later
    return replies[asked.id];
  }
  [[nodiscard]] std::uint64_t last_request() const { return last_request_; }
  std::string submit(const std::string& json = job_json(), int count = 1, const std::string& user = "anna") {
    Submit submit;
    submit.job = json;
    submit.count = count;
    const auto response = ask(submit, {user, "", ""});
    EXPECT_EQ(response.status, 201) << response.body;
    return formats::parse_json(response.body, "reply").find("jobs")->array().at(0).text();
  }
  Response change(const std::string& job, Verb verb, const std::string& user = "anna") {
    return ask(Change{job, verb}, {user, "", ""});
  }
  [[nodiscard]] const Job& job(const std::string& id) const { return state.job(state.find_job(id)); }
  [[nodiscard]] JobState state_of(const std::string& id) const { return job(id).state; }
  std::string why(const std::string& id) {
    return formats::parse_json(ask(Why{id}).body, "reply").find("reason")->text();
  }

  void revoke_tokens(const std::string& user) {
    std::vector<std::string> ids;
    for (const auto& [hash, token] : state.tokens())
      if (token.user == user) ids.emplace_back(token_id(hash));
    for (const auto& id : ids) EXPECT_EQ(ask(RemoveToken{id}).status, 200);
  }

  // --- agents ---
  LinkId connect(const std::string& site, const std::string& text = "",
                 std::vector<message::AttemptId> has = {}, const std::string& outbox = "") {
    const auto link = ++last_link_;
    happen(LinkUp{link, {"anna", "", ""}});
    message::Hello hello;
    hello.version = "0.1.0";
    hello.site = site;
    hello.site_file = text.empty() ? site_text(site) : text;
    hello.outbox = outbox.empty() ? "box-of-" + site : outbox;
    hello.attempts = std::move(has);
    say(link, hello);
    settle();
    return link;
  }
  void say(LinkId link, message::FromAgent message) { happen(Heard{link, std::move(message)}); }
  // Facts with their numbers, as an agent would send them.
  void tell(LinkId link, std::vector<message::Fact> facts) {
    const auto site = state.links.at(link).site;
    say(link, message::Facts{state.site(site).record.seen, std::move(facts)});
    settle();
  }
  void alive(LinkId link, const std::vector<std::string>& heard = {}) {
    message::Alive alive;
    for (const auto& attempt : heard) alive.heard.push_back({message::AttemptId::parse(attempt), {}});
    say(link, alive);
  }
  void start(LinkId link, const std::string& attempt) {
    tell(link, {message::Started{message::AttemptId::parse(attempt), "p1", 1, {"n1"}}});
  }
  void end(LinkId link, const std::string& attempt, message::Outcome outcome, std::uint64_t step = 0,
           bool checkpoint = false) {
    message::Ended ended;
    ended.attempt = message::AttemptId::parse(attempt);
    ended.outcome = outcome;
    ended.metrics.step = step;
    ended.checkpoint = checkpoint;
    if (outcome != message::Outcome::finished) ended.reason = "it broke";
    tell(link, {ended});
  }

  // What a link was told, of one kind.
  template <class Kind>
  std::vector<Kind> told(LinkId link) {
    std::vector<Kind> all;
    for (const auto& message : sent[link])
      if (const auto* one = std::get_if<Kind>(&message)) all.push_back(*one);
    return all;
  }
  std::vector<std::string> carried(LinkId link) {
    std::vector<std::string> all;
    for (const auto& carry : told<message::Carry>(link))
      for (const auto& one : carry.assignments) all.push_back(one.attempt.text());
    return all;
  }
  std::vector<std::string> stopped(LinkId link) {
    std::vector<std::string> all;
    for (const auto& stop : told<message::StopAttempts>(link))
      for (const auto& one : stop.attempts) all.push_back(one.text());
    return all;
  }
  std::vector<std::string> wanted(LinkId link) {
    std::vector<std::string> all;
    for (const auto& want : told<message::Want>(link))
      for (const auto& one : want.assignments) all.push_back(one.attempt.text());
    return all;
  }

 private:
  void keep(Action& action) {
    if (auto* reply = std::get_if<Reply>(&action)) replies[reply->id] = std::move(reply->response);
    if (auto* send = std::get_if<Send>(&action)) sent[send->link].push_back(std::move(send->message));
    if (const auto* close = std::get_if<Close>(&action)) closed.push_back(close->link);
  }

  std::uint64_t last_request_ = 0;
  LinkId last_link_ = 0;
};

}  // namespace longship::hub
