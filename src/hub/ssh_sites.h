// SPDX-License-Identifier: Apache-2.0
// Agents that the hub starts itself, over ssh, and talks to on their stdio: for sites whose login nodes are
// reached but cannot reach us. Each such site has a thread that keeps
//
//   ssh -T -o BatchMode=yes [-p PORT] -- USER@HOST LONGSHIP agent --stdio --site NAME [--site-file FILE]
//
// running: what ends is started again after 1, 2, 4 … 60 seconds. Its stdio carries frames with a length
// before each. The last lines that it wrote to stderr are why it ended, and become the site's condition.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hub.h"

namespace longship::hub {

struct SshSite {
  std::string name;
  std::string ssh;  // user@login; empty: no longer
  int port = 0;
  std::string longship, site_file;
  [[nodiscard]] bool operator==(const SshSite&) const = default;
};

// The argument vector of ssh. It joins what follows the host with blanks and hands that to the login shell
// there, so those words are quoted for a POSIX shell.
[[nodiscard]] std::vector<std::string> ssh_arguments(const SshSite& site);
[[nodiscard]] std::string quoted_for_shell(std::string_view word);

class SshSites {
 public:
  using Report = std::function<void(std::string site, std::string sentence)>;
  SshSites(Hub& hub, Report report);
  ~SshSites();
  void set(const SshSite& site);  // starts, restarts or ends its agent
  void stop();

 private:
  class Keeper;
  Hub& hub_;
  Report report_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Keeper>> keepers_;
};

}  // namespace longship::hub
