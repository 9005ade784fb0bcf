// SPDX-License-Identifier: Apache-2.0
#include "route.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/fields.h"
#include "route_target.h"

namespace longship::hub::http {
namespace {

constexpr std::size_t job_limit = std::size_t{1} << 20;
constexpr std::size_t small_limit = std::size_t{64} << 10;
constexpr std::uint64_t longest_piece = std::uint64_t{4} << 20;  // of a log, in one answer

struct Asked {
  const Head& head;
  const Target& target;
  std::vector<std::string> captured;

  [[nodiscard]] const std::string& job() const { return captured[0]; }
};

int attempt_of(const Query& query) {
  return static_cast<int>(query.number("attempt", 0, 1'000'000, 0));
}

AskSite site_question(const std::string& job, const Query& query,
                      message::About about = message::About::file) {
  AskSite ask;
  ask.job = job;
  ask.attempt = attempt_of(query);
  ask.about = about;
  return ask;
}

std::string checked_digest(const std::string& text) {
  if (!formats::is_digest(text))
    throw Error("{} is not a digest: expected sha256: and 64 hexadecimal digits", printable(text));
  return text;
}

// What is asked of a site is a name beneath the attempt's directory. The site does not trust us and looks
// again.
std::string checked_file_name(const std::string& name) {
  for (const auto part : split(name, '/'))
    if (part.empty() || part == "." || part == "..")
      throw Error("{}: the name of a file leads neither up nor away", printable(name));
  return name;
}

std::uint64_t byte_in(const Query& query, const char* name) {
  return static_cast<std::uint64_t>(query.number(name, 0, std::int64_t{1} << 50, 0));
}

std::string checked_key(std::string_view key) {
  if (key.size() > 200) throw Error("Idempotency-Key: longer than 200 characters");
  return std::string(key);
}

// --- one function per address ---

Action submit(const Asked& asked) {
  const Query none(asked.target, {});
  return AskWithBody{BodyKind::job, job_limit, checked_key(asked.head.idempotency_key)};
}
Action list_jobs(const Asked& asked) {
  const Query query(asked.target, {"state", "name", "owner", "team", "site", "text", "before", "limit"});
  ListJobs list;
  list.state = query.text("state");
  list.name = query.text("name");
  list.owner = query.text("owner");
  list.team = query.text("team");
  list.site = query.text("site");
  list.text = query.text("text");
  list.before = query.text("before");
  list.limit = static_cast<int>(query.number("limit", 1, 1000, 100));
  return Ask{std::move(list)};
}
Action show_job(const Asked& asked) {
  const Query none(asked.target, {});
  return Ask{ShowJob{asked.job()}};
}
template <Verb verb>
Action change(const Asked& asked) {
  const Query none(asked.target, {});
  return Ask{Change{asked.job(), verb}};
}
Action why(const Asked& asked) {
  const Query none(asked.target, {});
  return Ask{Why{asked.job()}};
}
Action log(const Asked& asked) {
  const Query query(asked.target, {"rank", "stream", "attempt", "from", "length"});
  const std::string stream = query.text("stream").empty() ? "out" : query.text("stream");
  if (stream != "out" && stream != "err")
    throw Error("stream: expected \"out\" or \"err\", found \"{}\"", printable(stream));
  AskSite ask = site_question(asked.job(), query);
  ask.name = fmt::format("output/rank-{:05}.{}", query.number("rank", 0, 9'999'999, 0), stream);
  ask.length = static_cast<std::uint64_t>(query.number("length", 0, longest_piece, 65536));
  constexpr auto far = std::int64_t{1} << 60;
  return SendLog{std::move(ask), query.number("from", -far, far, 0)};
}
Action metrics(const Asked& asked) {
  const Query query(asked.target, {"points", "attempt"});
  AskSite ask = site_question(asked.job(), query, message::About::metrics);
  ask.length = static_cast<std::uint64_t>(query.number("points", 1, 100'000, 500));
  return Ask{std::move(ask)};
}
Action report(const Asked& asked) {
  const Query query(asked.target, {"attempt"});
  return Ask{site_question(asked.job(), query, message::About::report)};
}
Action file(const Asked& asked) {
  const Query query(asked.target, {"attempt"});
  AskSite ask = site_question(asked.job(), query);
  ask.name = checked_file_name(asked.captured[1]);
  return SendFile{std::move(ask), parse_range(asked.head.range)};
}
Action list_sites(const Asked&) {
  return Ask{ListSites{}};
}
Action show_site(const Asked& asked) {
  return Ask{ShowSite{asked.captured[0]}};
}
Action add_site(const Asked&) {
  return AskWithBody{BodyKind::site, small_limit, {}};
}
Action remove_site(const Asked& asked) {
  return Ask{RemoveSite{asked.captured[0]}};
}
Action list_images(const Asked&) {
  return Ask{ListImages{}};
}
Action list_studies(const Asked&) {
  return StudyList{};
}
Action show_study(const Asked& asked) {
  return StudyGet{asked.captured[0], asked.captured[1]};
}
Action put_study(const Asked& asked) {
  return StudyPut{asked.captured[0]};
}
Action study_logs(const Asked& asked) {
  const Query none(asked.target, {});
  return StudyLogs{asked.captured[0], asked.captured[1]};
}
Action study_log(const Asked& asked) {
  const Query query(asked.target, {"from"});
  return StudyLogGet{asked.captured[0], asked.captured[1], asked.captured[2], byte_in(query, "from")};
}
Action run_study(const Asked& asked) {
  const Query query(asked.target, {"run"});
  return StudyRun{asked.captured[0], query.text("run")};
}
Action put_study_log(const Asked& asked) {
  const Query query(asked.target, {"at", "run"});
  return StudyLogPut{asked.captured[0], asked.captured[1], query.text("run"), byte_in(query, "at")};
}
Action put_image(const Asked&) {
  return AskWithBody{BodyKind::image, job_limit, {}};
}
Action add_token(const Asked&) {
  return AskWithBody{BodyKind::token, small_limit, {}};
}
Action list_tokens(const Asked&) {
  return Ask{ListTokens{}};
}
Action remove_token(const Asked& asked) {
  return Ask{RemoveToken{asked.captured[0]}};
}
Action blob_head(const Asked& asked) {
  return BlobHead{checked_digest(asked.captured[0])};
}
Action blob_get(const Asked& asked) {
  return BlobGet{checked_digest(asked.captured[0]), parse_range(asked.head.range)};
}
Action blob_put(const Asked& asked) {
  BlobPut put{checked_digest(asked.captured[0]), {}};
  if (!asked.head.content_range.empty()) put.range = parse_content_range(asked.head.content_range);
  return put;
}
Action events(const Asked& asked) {
  return Events{std::string(asked.head.last_event_id)};
}
Action agent(const Asked&) {
  return AgentSocket{};
}
Action health(const Asked&) {
  return Health{};
}

using Make = Action (*)(const Asked&);
struct Entry {
  Address address;
  Make make;
};
constexpr std::array<Entry, 34> table = {{
    {{"POST", "/v1/jobs"}, submit},
    {{"GET", "/v1/jobs"}, list_jobs},
    {{"GET", "/v1/jobs/{id}"}, show_job},
    {{"POST", "/v1/jobs/{id}/cancel"}, change<Verb::cancel>},
    {{"POST", "/v1/jobs/{id}/hold"}, change<Verb::hold>},
    {{"POST", "/v1/jobs/{id}/release"}, change<Verb::release>},
    {{"POST", "/v1/jobs/{id}/retry"}, change<Verb::retry>},
    {{"GET", "/v1/jobs/{id}/why"}, why},
    {{"GET", "/v1/jobs/{id}/log"}, log},
    {{"GET", "/v1/jobs/{id}/metrics"}, metrics},
    {{"GET", "/v1/jobs/{id}/report"}, report},
    {{"GET", "/v1/jobs/{id}/files/{name...}"}, file},
    {{"GET", "/v1/sites"}, list_sites},
    {{"POST", "/v1/sites"}, add_site},
    {{"GET", "/v1/sites/{name}"}, show_site},
    {{"DELETE", "/v1/sites/{name}"}, remove_site},
    {{"GET", "/v1/images"}, list_images},
    {{"PUT", "/v1/images"}, put_image},
    {{"HEAD", "/v1/blobs/{digest}"}, blob_head},
    {{"GET", "/v1/blobs/{digest}"}, blob_get},
    {{"PUT", "/v1/blobs/{digest}"}, blob_put},
    {{"GET", "/v1/studies"}, list_studies},
    {{"GET", "/v1/studies/{owner}/{name}"}, show_study},
    {{"PUT", "/v1/studies/{name}"}, put_study},
    {{"GET", "/v1/studies/{owner}/{name}/journal"}, study_logs},
    {{"GET", "/v1/studies/{owner}/{name}/journal/{log}"}, study_log},
    {{"POST", "/v1/studies/{name}/run"}, run_study},
    {{"PUT", "/v1/studies/{name}/journal/{log}"}, put_study_log},
    {{"GET", "/v1/tokens"}, list_tokens},
    {{"POST", "/v1/tokens"}, add_token},
    {{"DELETE", "/v1/tokens/{id}"}, remove_token},
    {{"GET", "/v1/events"}, events},
    {{"GET", "/v1/agent"}, agent},
    {{"GET", "/v1/health"}, health},
}};

const Entry* entry_for(std::string_view method, const Target& target, std::vector<std::string>& captured) {
  for (const auto& entry : table) {
    if (entry.address.method != method) continue;
    auto found = match(entry.address.pattern, target);
    if (!found) continue;
    captured = std::move(*found);
    return &entry;
  }
  return nullptr;
}

Action refused_here(const Head& head, const Target& target) {
  std::string allow;
  for (const auto& entry : table)
    if (match(entry.address.pattern, target))
      allow += (allow.empty() ? "" : ", ") + std::string(entry.address.method);
  const auto path = printable(head.target.substr(0, std::min<std::size_t>(head.target.find('?'), 200)));
  if (!allow.empty())
    return Refuse{405, fmt::format("{} {}: only {}", printable(head.method), path, allow), allow};
  return Refuse{404, fmt::format("there is no {}: docs/api.md lists what there is", path), {}};
}

Action find(const Head& head) {
  if (head.target.size() > 8192) return Refuse{414, "the address is longer than 8192 characters", {}};
  const Target target = parse_target(head.target);
  if (target.path.front() == "v1") {
    std::vector<std::string> captured;
    const auto* entry = entry_for(head.method, target, captured);
    if (entry == nullptr && head.method == "HEAD") entry = entry_for("GET", target, captured);
    if (entry == nullptr) return refused_here(head, target);
    return entry->make(Asked{head, target, std::move(captured)});
  }
  if (head.method != "GET" && head.method != "HEAD")
    return Refuse{405, fmt::format("{}: pages are only read", printable(head.method)), "GET, HEAD"};
  return Page{"/" + join(target.path, "/")};
}

// --- bodies ---

Submit submit_from(const formats::Value& value, const std::string& key) {
  const formats::Fields fields(value, "", {"job", "code", "count", "site"});
  Submit submit;
  submit.job = formats::dump_json(fields.required("job").table());
  submit.key = key;
  submit.site = fields.text("site", "");
  if (const auto* code = fields.find("code"); code != nullptr && !code->is(formats::Kind::null)) {
    const auto blob = fields.table("code", {"digest", "size"});
    submit.code = {checked_digest(blob->text("digest")),
                   static_cast<std::uint64_t>(blob->integer("size", {1, std::int64_t{1} << 50}))};
  }
  submit.count = static_cast<int>(fields.integer("count", {1, 1'000'000}, 1));
  return submit;
}

AddSite site_from(const formats::Value& value) {
  const formats::Fields fields(value, "", {"site", "ssh", "longship", "site_file", "port"});
  return {.site = fields.text("site"),
          .ssh = fields.text("ssh", ""),
          .longship = fields.text("longship", ""),
          .site_file = fields.text("site_file", ""),
          .port = static_cast<int>(fields.integer("port", {0, 65535}, 0))};
}

}  // namespace

Action route(const Head& head) {
  try {
    return find(head);
  } catch (const Error& error) {
    return Refuse{400, error.what(), {}};
  }
}

bool is_open(const Action& action) {
  return std::holds_alternative<Health>(action) || std::holds_alternative<Page>(action);
}

Request request_from(const AskWithBody& action, std::string_view body) {
  const auto value = formats::parse_json(body, "body", {.bytes = action.limit, .depth = 64});
  if (!value.is(formats::Kind::table)) throw Error("body: expected an object");
  switch (action.kind) {
    case BodyKind::job:
      return submit_from(value, action.key);
    case BodyKind::site:
      return site_from(value);
    case BodyKind::image:
      return PutImage{std::string(body)};
    case BodyKind::token:
      break;
  }
  const formats::Fields fields(value, "", {"user", "team"});
  return AddToken{fields.text("user"), fields.text("team", "")};
}

std::span<const Address> addresses() {
  static const auto all = [] {
    std::array<Address, table.size()> list;
    std::transform(table.begin(), table.end(), list.begin(),
                   [](const Entry& entry) { return entry.address; });
    return list;
  }();
  return all;
}

}  // namespace longship::hub::http
