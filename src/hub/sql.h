// SPDX-License-Identifier: Apache-2.0
// A prepared statement with typed values in and out. Errors are sentences with SQLite's own words.
#pragma once
#include <sqlite3.h>

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "rows.h"

namespace longship::hub::sql {

// SQLite says the second where the file does not grow by writing to it, as with its shared memory.
[[nodiscard]] inline bool disk_is_full(sqlite3* database) {
  const int code = sqlite3_errcode(database);
  return code == SQLITE_FULL || (code == SQLITE_IOERR && sqlite3_system_errno(database) == ENOSPC);
}

[[nodiscard]] inline Error error_of(sqlite3* database) {
  if (disk_is_full(database))
    return Error("the disk that holds the hub's store is full: make room, nothing that was accepted is lost");
  return Error("{}", sqlite3_errmsg(database));
}

inline void run(sqlite3* database, const char* text) {
  if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) != SQLITE_OK) throw error_of(database);
}

class Statement {
 public:
  Statement(sqlite3* database, std::string_view text) : database_(database) {
    if (sqlite3_prepare_v3(database, text.data(), static_cast<int>(text.size()), SQLITE_PREPARE_PERSISTENT,
                           &statement_, nullptr) != SQLITE_OK)
      throw error_of(database);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;

  // All parameters, then one step without a row.
  template <class... Values>
  void run(const Values&... values) {
    bind_all(values...);
    const auto code = sqlite3_step(statement_);
    if (code != SQLITE_DONE) {
      auto error = error_of(database_);
      sqlite3_reset(statement_);
      throw error;
    }
    sqlite3_reset(statement_);
  }

  // Rows: bind_all(…), then while (next()).
  template <class... Values>
  void bind_all(const Values&... values) {
    at_ = 0;
    (bind(values), ...);
  }
  bool next() {
    column_ = 0;
    const auto code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    auto error = error_of(database_);
    sqlite3_reset(statement_);
    if (code != SQLITE_DONE) throw error;
    return false;
  }
  // Columns from left to right.
  template <std::integral Integer>
  Statement& operator>>(Integer& value) {
    value = static_cast<Integer>(sqlite3_column_int64(statement_, column_++));
    return *this;
  }
  Statement& operator>>(std::string& value) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column_));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column_++));
    value = bytes == nullptr ? std::string() : std::string(bytes, size);
    return *this;
  }
  Statement& operator>>(Moment& value) {
    value = Moment(std::chrono::milliseconds(sqlite3_column_int64(statement_, column_++)));
    return *this;
  }

 private:
  void bind(Moment value) { sqlite3_bind_int64(statement_, ++at_, value.time_since_epoch().count()); }
  template <std::integral Integer>
  void bind(Integer value) {
    sqlite3_bind_int64(statement_, ++at_, static_cast<std::int64_t>(value));
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void bind(Enum value) { sqlite3_bind_int64(statement_, ++at_, static_cast<std::int64_t>(value)); }
  void bind(std::string_view value) {
    sqlite3_bind_text(statement_, ++at_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void bind(std::nullptr_t) { sqlite3_bind_null(statement_, ++at_); }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int at_ = 0, column_ = 0;
};

}  // namespace longship::hub::sql
