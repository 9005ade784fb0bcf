// SPDX-License-Identifier: Apache-2.0
// A study's journal at the hub, so that it can be read and go on from any other machine. What the logs here
// have grown by is sent before a job is handed in: whatever happens to this machine, the hub knows of the
// trial. Only one process in the world carries a study out; who takes over makes the hub refuse the others.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/record_log.h"
#include "hub_client.h"

namespace longship::cli {

class JournalAtHub {
 public:
  JournalAtHub(HubClient& hub, std::filesystem::path directory, std::string study);

  // From now on we carry it out. An Error if the hub knows more of it than the directory does.
  void take_over();
  // What was written here since the last time. An Error if another has taken over.
  void send();

 private:
  struct Log {
    RecordLogReader reader;
    std::uint32_t segment = 0;
    std::uint64_t sent = 0;  // of the segment
  };
  void send_log(std::uint32_t writer, Log& log);
  void send_part(const std::string& name, const std::filesystem::path& segment, Log& log, std::uint64_t end);

  HubClient& hub_;
  std::filesystem::path directory_;
  std::string study_, run_;
  std::map<std::uint32_t, Log> logs_;
};

// Brings the journal of an owner's study into a directory; one that is there already gets what it lacks, and
// must not say anything else. "-" is whoever asks.
void fetch_journal(HubClient& hub, const std::string& owner, const std::string& study,
                   const std::filesystem::path& directory);

}  // namespace longship::cli
