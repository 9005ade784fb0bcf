// SPDX-License-Identifier: Apache-2.0
#include "requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "describe.h"
#include "lists.h"
#include "secrets.h"
#include "step.h"

namespace longship::hub {

using formats::Array;
using formats::Table;
using formats::Value;

Response failure(int status, std::string_view sentence) {
  Table table;
  table.set("error", sentence);
  Response response;
  response.status = status;
  response.body = formats::dump_json(table);
  return response;
}

JobIndex required_job(const State& state, std::string_view id) {
  const auto index = state.find_job(id);
  if (index == none)
    throw Refusal{404, fmt::format("there is no job \"{}\": see longship jobs", printable(id))};
  return index;
}

bool is_plain_name(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 63 && alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

namespace {
constexpr std::string_view plain_name =
    "at most 63 letters, digits, \".\", \"_\" and \"-\", a letter or digit first";

bool is_owner(const State& state, const Caller& caller) {
  return caller.site.empty() && caller.user == state.owner;
}
}  // namespace

void require_access(const State& state, const Caller& caller, JobIndex index) {
  const auto& key = state.kind_of(state.job(index)).key;
  const auto& owner = state.texts[key.owner];
  const auto& team = state.texts[key.team];
  if (is_owner(state, caller) || caller.user == owner || (!team.empty() && caller.team == team)) return;
  throw Refusal{403, fmt::format("job {} belongs to {}", state.id_of(state.job(index)), owner)};
}

void require_owner(const State& state, const Caller& caller, std::string_view what) {
  if (!is_owner(state, caller))
    throw Refusal{403, fmt::format("only {}, whose hub this is, may {}", state.owner, what)};
}

namespace {

Response said(int status, Table table) {
  Response response;
  response.status = status;
  response.body = formats::dump_json(std::move(table));
  return response;
}

struct Answer {
  const Step& step;
  const Asked& asked;

  // Each gives the response, or nothing if it will come later.
  using Maybe = std::optional<Response>;

  Maybe operator()(const Submit& submit) const {
    auto& state = step.state;
    if (submit.count < 1 || submit.count > 1'000'000)
      throw Refusal{400, fmt::format("count must be from 1 to 1000000, not {}", submit.count)};
    if (!submit.site.empty() && !known_site(submit.site))
      throw Refusal{400,
                    fmt::format("there is no site \"{}\": see longship site ls", printable(submit.site))};
    const auto kind = state.intern_kind({.spec = state.intern_spec(asked.spec),
                                         .owner = state.texts.id(asked.caller.user),
                                         .team = state.texts.id(asked.caller.team),
                                         .site = state.texts.id(submit.site),
                                         .code = state.texts.id(submit.code.digest),
                                         .code_size = submit.code.size});
    auto key = submit.key.empty() ? std::string() : key_hash(asked.caller.user, submit.key);
    auto range = key.empty() ? State::Range{} : state.submitted_with(key);
    if (range.count != 0 &&
        (state.job(range.first).kind != kind || range.count != static_cast<std::uint32_t>(submit.count)))
      throw Refusal{409, fmt::format("this Idempotency-Key was used for {}, which is another submission",
                                     state.id_of(state.job(range.first)))};
    if (range.count == 0)
      range = state.submit(kind, static_cast<std::uint32_t>(submit.count), step.now, std::move(key));
    // By hand: a million names are no tree.
    Response response;
    response.status = 201;
    response.body = "{\"jobs\":[";
    for (std::uint32_t n = 0; n < range.count; ++n) {
      if (n != 0) response.body += ',';
      response.body += '"';
      response.body += state.id_of(state.job(range.first + n));
      response.body += '"';
    }
    response.body += "]}";
    return response;
  }

  Maybe operator()(const Change& change) const {
    auto& state = step.state;
    const auto index = required_job(state, change.job);
    require_access(state, asked.caller, index);
    switch (change.verb) {
      case Verb::cancel:
        cancel(index);
        break;
      case Verb::hold:
        hold(index);
        break;
      case Verb::release:
        release(index);
        break;
      case Verb::retry:
        retry(index);
        break;
    }
    return said(200, Describer(state, step.now).job(index));
  }

  Maybe operator()(const ListJobs& list) const { return said(200, list_jobs(step.state, list, step.now)); }

  Maybe operator()(const ShowJob& show) const {
    const auto index = required_job(step.state, show.job);
    require_access(step.state, asked.caller, index);
    return said(200, Describer(step.state, step.now).whole_job(index, asked.history));
  }

  Maybe operator()(const Why& why) const {
    return said(200, Describer(step.state, step.now).why(required_job(step.state, why.job)));
  }

  Maybe operator()(const AskSite& ask) const {
    ask_site(step, asked.id, asked.caller, ask);
    return {};
  }

  Maybe operator()(const ListSites&) const {
    Describer describer(step.state, step.now);
    Array sites;
    for (const auto& site : step.state.sites())
      if (!site.record.removed) sites.emplace_back(describer.site(site));
    Table table;
    table.set("sites", std::move(sites));
    return said(200, std::move(table));
  }

  Maybe operator()(const ShowSite& show) const {
    return said(200, Describer(step.state, step.now).whole_site(step.state.site(required_site(show.site))));
  }

  Maybe operator()(const AddSite& add) const {
    auto& state = step.state;
    require_owner(state, asked.caller, "add sites");
    if (!is_plain_name(add.site))
      throw Refusal{400, fmt::format("\"{}\" cannot be a site's name: {}", printable(add.site), plain_name)};
    if (add.port < 0 || add.port > 65535) throw Refusal{400, fmt::format("{} is no port", add.port)};
    if (add.ssh.starts_with('-'))
      throw Refusal{400, fmt::format("\"{}\" is no user@host", printable(add.ssh))};
    if (known_site(add.site)) state.revoke_tokens_of(add.site);  // asked for again: the old token is lost
    const auto id = state.add_site(add.site, step.now);
    auto& record = state.edit_site(id);
    record.ssh = add.ssh;
    record.longship = add.longship;
    record.site_file = add.site_file;
    record.port = add.port;
    state.put_token({token_hash(asked.secret), asked.caller.user, asked.caller.team, add.site, step.now, {}});
    state.site(id).stirred = true;
    step.site_changed(id);
    Table table;
    table.set("site", add.site);
    table.set("token", asked.secret);
    return said(201, std::move(table));
  }

  Maybe operator()(const RemoveSite& remove) const {
    auto& state = step.state;
    require_owner(state, asked.caller, "remove sites");
    const auto id = required_site(remove.site);
    std::vector<JobIndex> here;
    for (const auto& [index, live] : state.site(id).live) here.push_back(index);
    for (const auto index : here) lose(step, index, fmt::format("site {} was removed", remove.site));
    if (const auto link = state.site(id).link; link != 0)
      goodbye(step, link, "this site was removed from the hub");
    state.revoke_tokens_of(remove.site);
    auto& record = state.edit_site(id);
    record.removed = true;
    record.ssh.clear();
    state.site(id).stirred = true;
    ++state.world;
    step.site_changed(id);
    Table table;
    table.set("site", remove.site);
    table.set("lost", here.size());
    return said(200, std::move(table));
  }

  Maybe operator()(const PutImage&) const {  // hub.cpp has added it to the image store
    Table table;
    table.set("status", "ok");
    return said(201, std::move(table));
  }

  Maybe operator()(const ListImages&) const {
    Array images;
    for (const auto& image : step.state.images) images.push_back(store::to_json(image));
    Table table;
    table.set("images", std::move(images));
    return said(200, std::move(table));
  }

  Maybe operator()(const AddToken& add) const {
    require_owner(step.state, asked.caller, "give tokens to others");
    if (!is_plain_name(add.user))
      throw Refusal{400, fmt::format("\"{}\" cannot be a user's name: {}", printable(add.user), plain_name)};
    const auto hash = token_hash(asked.secret);
    step.state.put_token({hash, add.user, add.team, "", step.now, {}});
    Table table;
    table.set("token", asked.secret);
    table.set("id", token_id(hash));
    return said(201, std::move(table));
  }

  Maybe operator()(const ListTokens&) const {
    std::vector<const TokenRecord*> seen;
    for (const auto& [hash, token] : step.state.tokens())
      if (is_theirs(token)) seen.push_back(&token);
    std::sort(seen.begin(), seen.end(), [](const auto* a, const auto* b) {
      return std::tie(a->user, a->added, a->hash) < std::tie(b->user, b->added, b->hash);
    });
    const Describer describer(step.state, step.now);
    Array tokens;
    for (const auto* token : seen) tokens.emplace_back(describer.token(*token));
    Table table;
    table.set("tokens", std::move(tokens));
    return said(200, std::move(table));
  }

  Maybe operator()(const RemoveToken& remove) const {
    auto& state = step.state;
    const auto* found = state.find_token(remove.id);
    if (found == nullptr || !is_theirs(*found))
      throw Refusal{404,
                    fmt::format("there is no token \"{}\": see longship token ls", printable(remove.id))};
    const TokenRecord token = *found;
    state.revoke_token(token.hash);
    std::vector<LinkId> with_it;
    for (const auto& [id, link] : state.links)
      if (link.caller.token == token.hash) with_it.push_back(id);
    for (const auto link : with_it) goodbye(step, link, "this token was revoked");
    return said(200, Describer(state, step.now).token(token));
  }

 private:
  [[nodiscard]] bool is_theirs(const TokenRecord& token) const {
    return is_owner(step.state, asked.caller) || (token.user == asked.caller.user && token.site.empty());
  }
  [[nodiscard]] bool known_site(std::string_view name) const {
    const auto id = step.state.find_site(name);
    return id != none && !step.state.site(id).record.removed;
  }
  [[nodiscard]] SiteId required_site(std::string_view name) const {
    if (!known_site(name))
      throw Refusal{404, fmt::format("there is no site \"{}\": see longship site ls", printable(name))};
    return step.state.find_site(name);
  }
  [[nodiscard]] Refusal cannot(JobIndex index, std::string_view why_not) const {
    const auto& job = step.state.job(index);
    return {409, fmt::format("{} is {}: {}", step.state.id_of(job), name_of(job.state), why_not)};
  }
  [[nodiscard]] std::string by_caller(std::string_view what) const {
    return fmt::format("{} by {}", what, asked.caller.user);
  }
  void note(JobIndex index, std::string_view what) const {
    step.state.note({step.now, index, 0, none, by_caller(what)});
  }

  void cancel(JobIndex index) const {
    const auto state = step.state.job(index).state;
    if (state == JobState::cancelled) return;
    if (is_over(state)) throw cannot(index, "there is nothing to cancel");
    note(index, "cancelled");
    withdraw(step, index, JobState::cancelled, by_caller("cancelled"));
  }
  void hold(JobIndex index) const {
    const auto state = step.state.job(index).state;
    if (state == JobState::held) return;
    if (state == JobState::running) throw cannot(index, "cancel it, or let it end");
    if (is_over(state)) throw cannot(index, "only what waits can be held");
    note(index, "held");
    withdraw(step, index, JobState::held, by_caller("held"));
  }
  void release(JobIndex index) const {
    if (step.state.job(index).state != JobState::held)
      throw cannot(index, "only what is held can be released");
    note(index, "released");
    step.state.edit(index, [](Job& job) {
      job.state = JobState::waiting;
      job.reason = 0;
    });
  }
  void retry(JobIndex index) const {
    const auto state = step.state.job(index).state;
    if (state == JobState::finished) throw cannot(index, "submit it again to have it run once more");
    if (state != JobState::failed && state != JobState::cancelled && state != JobState::waiting)
      throw cannot(index, "only what failed or was cancelled can be tried again");
    note(index, "tried again");
    step.state.edit(index, [](Job& job) {
      job.state = JobState::waiting;
      job.reason = 0;
      job.crashes = job.losses = 0;
      job.ended = job.not_before = {};
    });
  }
};

}  // namespace

void answer_request(const Step& step, const Asked& asked) {
  try {
    if (!asked.caller.site.empty())
      throw Refusal{403, fmt::format("this token is for the agent of site {}, and for nothing else",
                                     asked.caller.site)};
    if (auto response = std::visit(Answer{step, asked}, asked.request))
      step.reply(asked.id, std::move(*response));
  } catch (const Refusal& refusal) {
    step.reply(asked.id, failure(refusal.status, refusal.sentence));
  }
}

}  // namespace longship::hub
