// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>

#include "base/failpoint.h"
#include "base/say.h"
#include "load.h"
#include "more.h"
#include "schema.h"
#include "sql.h"

namespace longship::hub {

using sql::Statement;

struct Store::Statements {
  explicit Statements(sqlite3* opened) : database(opened) {}
  sqlite3* database;
  Statement begin{database, "BEGIN IMMEDIATE"};
  Statement commit{database, "COMMIT"};
  Statement spec{database, "INSERT OR REPLACE INTO spec VALUES (?, ?, ?)"};
  Statement kind{database, "INSERT OR REPLACE INTO kind VALUES (?, ?, ?, ?, ?, ?, ?)"};
  Statement submission{database, "INSERT INTO submission VALUES (?, ?, ?, ?, ?, ?)"};
  Statement job{database, "INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  Statement attempt{
      database,
      "INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  Statement image{database, "INSERT INTO image VALUES (?, ?)"};
  Statement site{database, "INSERT OR REPLACE INTO site VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  Statement token{database, "INSERT OR REPLACE INTO token VALUES (?, ?, ?, ?, ?, ?)"};
  Statement revoke{database, "DELETE FROM token WHERE hash = ?"};
  Statement note{database, "INSERT INTO note (at, job, attempt, site, what) VALUES (?, ?, ?, ?, ?)"};
  Statement notes{database, "SELECT at, job, attempt, site, what FROM note WHERE job = ? ORDER BY id"};
  Statement site_notes{
      database, "SELECT at, job, attempt, site, what FROM note WHERE site = ? ORDER BY id DESC LIMIT 100"};
  std::unordered_map<TextId, std::int64_t> images;  // ids of records that are stored
  std::vector<TextId> new_images;                   // in this transaction
};

namespace {

// SQLite's locks and its write-ahead log need a real disk of this machine.
void warn_of_network(const std::filesystem::path& file) {
  struct statfs where {};
  if (::statfs(file.parent_path().c_str(), &where) != 0) return;
  constexpr long nfs = 0x6969, lustre = 0x0BD00BD0, gpfs = 0x47504653, cifs = 0xFF534D42, fuse = 0x65735546;
  for (const auto type : {nfs, lustre, gpfs, cifs, fuse})
    if (static_cast<long>(static_cast<unsigned int>(where.f_type)) == type)
      return warn(
          "{} is on a network file system, where SQLite may lose data: put the hub's directory on a disk of "
          "this machine (LONGSHIP_HUB_DIR)",
          file.parent_path().string());
}

int flags_of(const Attempt& attempt) {
  return (attempt.resume ? 1 : 0) | (attempt.checkpoint ? 2 : 0) | (attempt.withdrawn ? 4 : 0) |
         (attempt.gone ? 8 : 0) | (static_cast<int>(attempt.discard) << 4);
}

bool same(const Attempt& a, const Attempt& b) {
  return a.state == b.state && a.result == b.result && flags_of(a) == flags_of(b) && a.pilot == b.pilot &&
         a.batch_job == b.batch_job && a.reason == b.reason && a.nodes == b.nodes &&
         a.exit_code == b.exit_code && a.started == b.started && a.ended == b.ended &&
         a.outputs == b.outputs && a.last == b.last;
}

}  // namespace

Store::Store(const std::filesystem::path& file, const StoreOptions& options) : file_(file) {
  within(fmt::format("store {}", file.string()), [&] {
    warn_of_network(file);
    try {
      open(options);
      migrate();
      statements_ = std::make_unique<Statements>(database_);
    } catch (...) {
      statements_.reset();
      sqlite3_close(database_);
      throw;
    }
  });
}

Store::~Store() {
  statements_.reset();
  sqlite3_close(database_);
}

void Store::open(const StoreOptions& options) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(file_.c_str(), &database_, flags,
                      options.vfs.empty() ? nullptr : options.vfs.c_str()) != SQLITE_OK) {
    if (database_ == nullptr) throw Error("not enough memory to open it");
    throw sql::error_of(database_);
  }
  sqlite3_busy_timeout(database_, 5000);
  sql::run(database_, "PRAGMA journal_mode = WAL");
  sql::run(database_, options.sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF");
  sql::run(database_, "PRAGMA wal_autocheckpoint = 8000");
  sql::run(database_, "PRAGMA cache_size = -65536");
  sql::run(database_, "PRAGMA temp_store = MEMORY");
}

void Store::migrate() {
  sql::run(database_, "BEGIN IMMEDIATE");
  try {
    sql::run(database_, "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
    int version = 0;
    {
      Statement known(database_, "SELECT coalesce(max(version), 0) FROM schema_version");
      if (known.next()) known >> version;
    }
    if (version > schema)
      throw Error("a newer longship wrote it (schema {}, this one knows {}): install that version again",
                  version, schema);
    for (; version < schema; ++version) sql::run(database_, schema_steps[static_cast<std::size_t>(version)]);
    sql::run(database_, "DELETE FROM schema_version");
    Statement(database_, "INSERT INTO schema_version VALUES (?)").run(schema);
    sql::run(database_, "COMMIT");
  } catch (...) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

// --- writing ---

void Store::write(const State& state) {
  within("the hub's store", [&] {
    const auto specs = specs_, kinds = kinds_;
    statements_->new_images.clear();
    try {
      statements_->begin.run();
      write_rows(state);
      failpoint("hub.written");
      statements_->commit.run();
    } catch (...) {
      specs_ = specs;
      kinds_ = kinds;
      for (const auto id : statements_->new_images) statements_->images.erase(id);
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
    shorten_log_on_a_small_disk();
  });
}

// What was written is safe either way, so a failure is nobody's concern here: the next write() meets it.
void Store::shorten_log_on_a_small_disk() {
  struct stat log {};
  struct statvfs disk {};
  if (::stat((file_.string() + "-wal").c_str(), &log) != 0 || log.st_size == 0) return;
  if (::statvfs(file_.parent_path().c_str(), &disk) != 0) return;
  const auto room = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (room > 2 * static_cast<std::uint64_t>(log.st_size)) return;
  sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

void Store::write_rows(const State& state) {
  const auto& changes = state.changes();
  write_submissions(state);
  write_sites(state);
  std::vector<JobIndex> changed;  // in order, so that neighbours are in the same pages
  for (const auto& [index, before] : changes.jobs) changed.push_back(index);
  std::sort(changed.begin(), changed.end());
  for (const auto index : changed) write_job(state, index, changes.jobs.at(index));
  write_tokens(state);
  for (const auto& note : changes.notes)
    statements_->note.run(note.at, note.job, note.attempt, note.site, note.what);
}

void Store::write_submissions(const State& state) {
  const auto& texts = state.texts;
  for (; specs_ < state.spec_count(); ++specs_) {
    const auto& spec = state.spec(static_cast<std::uint32_t>(specs_));
    statements_->spec.run(specs_, spec.digest, spec.json);
  }
  for (; kinds_ < state.kind_count(); ++kinds_) {
    const auto& key = state.kind(static_cast<KindId>(kinds_)).key;
    statements_->kind.run(kinds_, key.spec, texts[key.owner], texts[key.team], texts[key.site],
                          texts[key.code], key.code_size);
  }
  for (const auto& one : state.changes().submissions)
    statements_->submission.run(one.first, one.number, one.count, one.kind, one.at, one.key);
}

void Store::write_job(const State& state, JobIndex index, const Job& before) {
  const auto& job = state.job(index);
  statements_->job.run(index, job.state, state.texts[job.reason], job.crashes, job.losses, job.committed,
                       job.resume_at, job.ended, job.not_before);
  for (std::size_t at = 0; at < job.attempts.size(); ++at)
    if (at >= before.attempts.size() || !same(job.attempts[at], before.attempts[at]))
      write_attempt(state, index, job.attempts[at]);
}

void Store::write_attempt(const State& state, JobIndex index, const Attempt& attempt) {
  const auto& texts = state.texts;
  auto& images = statements_->images;
  if (attempt.image != 0 && !images.contains(attempt.image)) {
    const auto id = static_cast<std::int64_t>(images.size()) + 1;
    statements_->image.run(id, texts[attempt.image]);
    images.emplace(attempt.image, id);
    statements_->new_images.push_back(attempt.image);
  }
  statements_->attempt.run(index, attempt.number, attempt.site, texts[attempt.queue],
                           attempt.image == 0 ? 0 : images.at(attempt.image), attempt.state, attempt.result,
                           flags_of(attempt), texts[attempt.pilot], texts[attempt.batch_job],
                           texts[attempt.reason], texts[attempt.nodes], attempt.ranks, attempt.exit_code,
                           attempt.site_version, attempt.created, attempt.started, attempt.ended,
                           more_of(attempt));
}

void Store::write_sites(const State& state) {
  for (const auto& [id, before] : state.changes().sites) {
    const auto& site = state.site(id).record;
    statements_->site.run(id, site.name, site.ssh, site.longship, site.site_file, site.port, site.text,
                          site.version, site.outbox, site.seen, site.removed, site.added);
  }
}

void Store::write_tokens(const State& state) {
  for (const auto& [hash, before] : state.changes().tokens) {
    const auto found = state.tokens().find(hash);
    if (found == state.tokens().end()) {
      statements_->revoke.run(hash);
      continue;
    }
    const auto& token = found->second;
    statements_->token.run(hash, token.user, token.team, token.site, token.added, token.used);
  }
}

// --- reading ---

void Store::load(State& state) {
  within(fmt::format("store {}", file_.string()), [&] {
    load_rows(database_, state, statements_->images);
    specs_ = state.spec_count();
    kinds_ = state.kind_count();
    state.restored();
  });
}

namespace {
std::vector<Note> read_notes(Statement& statement, std::uint32_t id) {
  std::vector<Note> notes;
  statement.bind_all(id);
  while (statement.next()) {
    auto& note = notes.emplace_back();
    statement >> note.at >> note.job >> note.attempt >> note.site >> note.what;
  }
  return notes;
}
}  // namespace

std::vector<Note> Store::notes_of(JobIndex job) {
  return read_notes(statements_->notes, job);
}

std::vector<Note> Store::notes_of_site(SiteId site) {
  return read_notes(statements_->site_notes, site);
}

}  // namespace longship::hub
