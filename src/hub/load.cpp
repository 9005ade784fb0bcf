// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"
#include "more.h"
#include "sql.h"

namespace longship::hub {
namespace {

using sql::Statement;

void set_flags(Attempt& attempt, int flags) {
  attempt.resume = (flags & 1) != 0;
  attempt.checkpoint = (flags & 2) != 0;
  attempt.withdrawn = (flags & 4) != 0;
  attempt.gone = (flags & 8) != 0;
  attempt.discard = static_cast<Discard>(std::min(flags >> 4, 2));
}

template <class Enum>
Enum checked(int value, int most, std::string_view what) {
  if (value < 0 || value > most)
    throw Error("{} {} is none that is known: the store is damaged", what, value);
  return static_cast<Enum>(value);
}

void load_kinds(sqlite3* database, State& state) {
  Statement specs(database, "SELECT id, digest, json FROM spec ORDER BY id");
  while (specs.next()) {
    std::uint32_t id = 0;
    auto spec = std::make_shared<Spec>();
    specs >> id >> spec->digest >> spec->json;
    spec->job = job::from_json(spec->json, fmt::format("spec {}", id));
    if (state.intern_spec(spec) != id) throw Error("spec {} is there twice: the store is damaged", id);
  }
  Statement kinds(database, "SELECT id, spec, owner, team, site, code, code_size FROM kind ORDER BY id");
  while (kinds.next()) {
    KindId id = 0;
    KindKey key;
    std::string owner, team, site, code;
    kinds >> id >> key.spec >> owner >> team >> site >> code >> key.code_size;
    if (key.spec >= state.spec_count()) throw Error("spec {} is missing: the store is damaged", key.spec);
    key.owner = state.texts.id(owner);
    key.team = state.texts.id(team);
    key.site = state.texts.id(site);
    key.code = state.texts.id(code);
    if (state.intern_kind(key) != id) throw Error("kind {} is there twice: the store is damaged", id);
  }
}

void load_sites(sqlite3* database, State& state) {
  Statement sites(
      database,
      "SELECT id, name, ssh, longship, site_file, port, text, version, outbox, seen, removed, added FROM "
      "site ORDER BY id");
  while (sites.next()) {
    SiteId id = 0;
    SiteRecord site;
    int removed = 0;
    sites >> id >> site.name >> site.ssh >> site.longship >> site.site_file >> site.port >> site.text >>
        site.version >> site.outbox >> site.seen >> removed >> site.added;
    if (id != state.sites().size())
      throw Error("site {} is missing: the store is damaged", state.sites().size());
    site.removed = removed != 0;
    try {
      if (!site.text.empty())
        site.description =
            std::make_shared<const site::Site>(site::parse(site.text, "site file of " + site.name));
    } catch (const Error& error) {
      warn("{}; the site is not used until its agent says more", error.what());
    }
    site.text_version = version_of(site.text);
    state.restore_site(std::move(site));
  }
  Statement tokens(database, "SELECT hash, user, team, site, added, used FROM token");
  while (tokens.next()) {
    TokenRecord token;
    tokens >> token.hash >> token.user >> token.team >> token.site >> token.added >> token.used;
    state.restore_token(std::move(token));
  }
}

void load_jobs(sqlite3* database, State& state) {
  Statement submissions(database,
                        "SELECT first, number, count, kind, at, key FROM submission ORDER BY first");
  while (submissions.next()) {
    Submission one;
    submissions >> one.first >> one.number >> one.count >> one.kind >> one.at >> one.key;
    if (one.first != state.job_count() || one.kind >= state.kind_count())
      throw Error("submission {} does not follow the one before it: the store is damaged", one.first);
    state.restore(one);
  }
  Statement jobs(
      database,
      "SELECT id, state, reason, crashes, losses, committed, resume_at, ended, not_before FROM job");
  std::string reason;
  while (jobs.next()) {
    JobIndex index = 0;
    Job job;
    int job_state = 0;
    jobs >> index >> job_state >> reason >> job.crashes >> job.losses >> job.committed >> job.resume_at >>
        job.ended >> job.not_before;
    if (index >= state.job_count()) throw Error("job {} was never submitted: the store is damaged", index);
    job.state = checked<JobState>(job_state, 6, "state of a job");
    job.reason = state.texts.id(reason);
    state.restore(index, std::move(job));
  }
}

void load_attempts(sqlite3* database, State& state, std::unordered_map<TextId, std::int64_t>& images) {
  std::unordered_map<std::int64_t, TextId> records;
  Statement image(database, "SELECT id, record FROM image ORDER BY id");
  while (image.next()) {
    std::int64_t id = 0;
    std::string record;
    image >> id >> record;
    records[id] = state.texts.id(record);
    images[records[id]] = id;
  }
  Statement attempts(
      database,
      "SELECT job, number, site, queue, image, state, result, flags, pilot, batch_job, reason, nodes, "
      "ranks, exit_code, site_version, created, started, ended, more FROM attempt ORDER BY job, number");
  std::string queue, pilot, batch_job, reason, nodes, more;
  while (attempts.next()) {
    JobIndex job = 0;
    Attempt one;
    std::int64_t record = 0;
    int attempt_state = 0, result = 0, flags = 0;
    attempts >> job >> one.number >> one.site >> queue >> record >> attempt_state >> result >> flags >>
        pilot >> batch_job >> reason >> nodes >> one.ranks >> one.exit_code >> one.site_version >>
        one.created >> one.started >> one.ended >> more;
    if (job >= state.job_count() || one.site >= state.sites().size() ||
        static_cast<std::size_t>(one.number) != state.job(job).attempts.size() + 1)
      throw Error("attempt {} of job {} does not belong there: the store is damaged", one.number, job);
    one.state = checked<AttemptState>(attempt_state, 4, "state of an attempt");
    one.result = checked<Result>(result, 6, "result of an attempt");
    set_flags(one, flags);
    one.queue = state.texts.id(queue);
    one.image = record == 0 ? 0 : records[record];
    one.pilot = state.texts.id(pilot);
    one.batch_job = state.texts.id(batch_job);
    one.reason = state.texts.id(reason);
    one.nodes = state.texts.id(nodes);
    read_more(one, more);
    state.restore(job, std::move(one));
  }
}

}  // namespace

void load_rows(sqlite3* database, State& state, std::unordered_map<TextId, std::int64_t>& images) {
  load_kinds(database, state);
  load_sites(database, state);
  load_jobs(database, state);
  load_attempts(database, state, images);
}

}  // namespace longship::hub
