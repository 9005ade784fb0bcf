// SPDX-License-Identifier: Apache-2.0
// Where processes of one user that have no common parent find each other by a name: at a socket, in a
// directory that only this user can enter. Behind the socket sits a keeper (keeper.h), forked by whoever came
// first. A lock beside it lets one process at a time decide whether it is the first.
//
// A keeper that was killed leaves socket and lock; the next one that comes removes them.
#pragma once
#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include "base/fd.h"

namespace longship::box {

class Meeting {
 public:
  // Waits as long as another process decides. Error with Failure::impossible where the place, or the keeper,
  // is somebody else's.
  explicit Meeting(const std::string& name);
  // In a keeper that another program has become: what descriptors() were there.
  Meeting(std::string name, std::string directory_name, const std::array<int, 3>& descriptors);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& directory_name() const { return directory_name_; }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(connection_); }
  [[nodiscard]] int connection() const { return connection_.get(); }  // if it is open: to the keeper
  [[nodiscard]] Fd take_connection() { return std::move(connection_); }
  [[nodiscard]] int listening() const { return listening_.get(); }  // if not: for the keeper; never blocks
  void unlock() { lock_.reset(); }

  // In the process that forked the keeper: it has the socket now.
  void was_handed_over();

  // In the keeper: what it has to keep open.
  [[nodiscard]] std::array<int, 3> descriptors() const {
    return {above_.get(), directory_.get(), listening_.get()};
  }
  // False: somebody may be about to come. True: the name is free again, and nothing is left of it.
  [[nodiscard]] bool give_up() const;
  void stop_listening() { listening_.reset(); }

 private:
  bool take_lock();
  void remove_abandoned(const std::string& here) const;  // `here`: the directory, as a path
  void remove() const;
  void find_or_listen();

  std::string name_;
  Fd above_, directory_, lock_, connection_, listening_;
  std::string directory_name_;
  bool handed_over_ = false;
};

// To the keeper of this name, without lock and wait; nothing if there is none. The keeper may be about to
// give up, and hang up instead of answering: then the slow way through a Meeting tells.
[[nodiscard]] Fd connect_to_keeper(const std::string& name);

// Who is at the other end, by the numbers that this process sees; nobody's if the kernel does not tell.
[[nodiscard]] ucred peer_of(int socket);

}  // namespace longship::box
