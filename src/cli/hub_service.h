// SPDX-License-Identifier: Apache-2.0
// A hub that runs in this process until a signal: for `longship hub`, and for `longship up` with an agent
// beside it.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/hub.h"
#include "hub/server.h"
#include "hub_client.h"

namespace longship::cli {

struct ServiceWords {
  std::string directory;  // empty: default_hub_directory()
  std::string store;      // of images; empty: the usual one
  std::string address = "127.0.0.1";
  int port = 8470;
  std::string certificate, key;
  std::vector<std::string> names;

  [[nodiscard]] std::filesystem::path where() const;
};

// "127.0.0.1:8470", "[::1]:0", ":9000".
void parse_listen(const std::string& text, ServiceWords& words);

// Hub, server, and hub.json for those who look for them.
class Service {
 public:
  Service(const ServiceWords& words, const std::string& version);
  ~Service();
  Service(const Service&) = delete;

  [[nodiscard]] hub::Hub& hub() { return hub_; }
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::string portal() const;  // with the token, for a browser

 private:
  const std::filesystem::path directory_;
  hub::Hub hub_;
  hub::Server server_;
};

// The hub of a directory, if it runs and answers.
[[nodiscard]] std::optional<RunningHub> answering_hub(const std::filesystem::path& directory);
[[nodiscard]] std::string portal_address(const std::string& url, const std::string& token);
// The one of the directory that runs; an Error if none does.
[[nodiscard]] std::string portal_of(const std::filesystem::path& directory);

// Starts `longship WORDS…` as a process of its own, with its output in DIR/hub.log, and waits until the hub
// answers. An Error with its last words if it ended instead.
RunningHub start_in_background(const std::filesystem::path& directory, const std::vector<std::string>& words);

// SIGTERM to the hub of the directory, and waits until it is gone. False: none runs.
bool stop_service(const std::filesystem::path& directory);

}  // namespace longship::cli
