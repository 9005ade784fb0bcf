// SPDX-License-Identifier: Apache-2.0
// One box for several processes that have no common parent, such as the tasks that a batch system starts: the
// first makes it, the others come in. They then share user and mount namespace, so that ranks of an MPI
// program may read each other's memory (cross-memory attach), and the image is mounted once.
//
// They meet by name in a directory that only this user can enter, at a socket. Behind it sits a keeper,
// forked by the first one from inside the box: it hands the namespaces to whoever comes, watches who is
// there, and ends with the last of them. A lock beside the socket lets one process at a time decide whether
// it is the first. After kill -9 of the keeper those inside go on, and the next one makes a box of its own.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "box.h"

namespace longship::box {

class Meeting {
 public:
  // Waits as long as another process is making this box.
  explicit Meeting(const std::string& name);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  [[nodiscard]] bool is_open() const { return static_cast<bool>(connection_); }
  Way join();          // if it is open: into the box
  void open(Way way);  // if it is not, from inside the new box: others may come

 private:
  bool take_lock();
  void remove_abandoned() const;
  void find_or_listen();
  [[noreturn]] void keep(pid_t first, Way way);

  std::string name_;
  Fd above_, directory_, lock_, connection_, listening_;
  std::string directory_name_;
  bool opened_ = false;
};

}  // namespace longship::box
