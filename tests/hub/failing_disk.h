// SPDX-License-Identifier: Apache-2.0
// A disk for SQLite that fails when told to: the n-th write, sync or truncation, once or from then on. After
// a "power failure" nothing reaches the disk any more, which is then looked at with an honest one.
#pragma once
#include <sqlite3.h>

#include <cstring>
#include <string>

namespace longship::hub {

class FailingDisk {
 public:
  FailingDisk() {
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.zName = "failing";
    vfs_.pAppData = this;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = &open;
    sqlite3_vfs_register(&vfs_, 0);
    current_ = this;
  }
  ~FailingDisk() {
    sqlite3_vfs_unregister(&vfs_);
    current_ = nullptr;
  }
  FailingDisk(const FailingDisk&) = delete;

  enum class How { once, from_then_on };
  void fail_at(int operation, int code, How how = How::once) {
    countdown_ = operation;
    code_ = code;
    how_ = how;
  }
  void recover() { countdown_ = 0; }
  [[nodiscard]] bool has_failed() const { return failed_; }
  void forget() { failed_ = false; }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
  };

  int judge() {
    if (countdown_ == 0) return SQLITE_OK;
    if (countdown_ > 1) {
      --countdown_;
      return SQLITE_OK;
    }
    failed_ = true;
    if (how_ == How::once) countdown_ = 0;
    return code_;
  }

  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
  static int open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
    auto* self = reinterpret_cast<File*>(file);
    self->real = reinterpret_cast<sqlite3_file*>(self + 1);
    std::memset(self->real, 0, static_cast<std::size_t>(current_->real_->szOsFile));
    const int code = current_->real_->xOpen(current_->real_, name, self->real, flags, out);
    file->pMethods = code == SQLITE_OK ? methods() : nullptr;
    return code;
  }
  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods all = {
        3,
        [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
        [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
          return real(f)->pMethods->xRead(real(f), to, n, at);
        },
        [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
          const int code = current_->judge();
          return code != SQLITE_OK ? code : real(f)->pMethods->xWrite(real(f), from, n, at);
        },
        [](sqlite3_file* f, sqlite3_int64 size) {
          const int code = current_->judge();
          return code != SQLITE_OK ? SQLITE_IOERR_TRUNCATE : real(f)->pMethods->xTruncate(real(f), size);
        },
        [](sqlite3_file* f, int flags) {
          const int code = current_->judge();
          return code != SQLITE_OK ? SQLITE_IOERR_FSYNC : real(f)->pMethods->xSync(real(f), flags);
        },
        [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
        [](sqlite3_file* f, int kind) { return real(f)->pMethods->xLock(real(f), kind); },
        [](sqlite3_file* f, int kind) { return real(f)->pMethods->xUnlock(real(f), kind); },
        [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
        [](sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
        [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
        [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
          return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
        },
        [](sqlite3_file* f, int at, int n, int flags) {
          return real(f)->pMethods->xShmLock(real(f), at, n, flags);
        },
        [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
        [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
        [](sqlite3_file*, sqlite3_int64, int, void** out) {
          *out = nullptr;
          return SQLITE_OK;
        },
        [](sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; },
    };
    return &all;
  }

  static inline FailingDisk* current_ = nullptr;
  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs vfs_{};
  int countdown_ = 0, code_ = SQLITE_IOERR_WRITE;
  How how_ = How::once;
  bool failed_ = false;
};

}  // namespace longship::hub
