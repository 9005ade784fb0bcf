// SPDX-License-Identifier: Apache-2.0
// The hub's rows on disk: SQLite with a write-ahead log, synced fully, one writer. A batch of changes is one
// transaction: after write() returns they survive anything but the disk; if it throws, the file is as before,
// and a later write() may succeed (the disk was full).
//
// The write-ahead log is copied into the database now and then, and long before it alone could fill the disk:
// the copy needs at most as much room again.
//
// A bulk submission is one row; a job gets a row of its own when something happens to it. The schema has a
// version, and a store that a newer longship wrote is not touched.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "state.h"

struct sqlite3;
struct sqlite3_stmt;

namespace longship::hub {

struct StoreOptions {
  std::string vfs = {};  // SQLite's name of a file system, for tests; empty: the default
  bool sync = true;      // off only in tests and where a lost power supply does not matter
};

class Store {
 public:
  static constexpr int schema = 2;

  explicit Store(const std::filesystem::path& file, const StoreOptions& options = {});
  ~Store();
  Store(const Store&) = delete;

  void load(State& state);  // into an empty one
  // state.changes(); the caller then says state.committed(), or roll_back() after an Error.
  void write(const State& state);
  [[nodiscard]] std::vector<Note> notes_of(JobIndex job);
  [[nodiscard]] std::vector<Note> notes_of_site(SiteId site);

 private:
  struct Statements;
  void open(const StoreOptions& options);
  void migrate();
  void write_rows(const State& state);
  void shorten_log_on_a_small_disk();
  void write_submissions(const State& state);
  void write_job(const State& state, JobIndex index, const Job& before);
  void write_attempt(const State& state, JobIndex index, const Attempt& attempt);
  void write_sites(const State& state);
  void write_tokens(const State& state);

  std::filesystem::path file_;
  sqlite3* database_ = nullptr;
  std::unique_ptr<Statements> statements_;
  std::size_t specs_ = 0, kinds_ = 0;  // that are stored; they only ever grow
};

}  // namespace longship::hub
