// SPDX-License-Identifier: Apache-2.0
// A file through which ranks find rank 0 when their launcher tells them only who they are: srun, mpirun,
// jsrun, torchrun. Rank 0 listens at a free port and writes its addresses, the port and a secret made for
// this meeting into the file, which only the user can read; it goes away when all have come. What an earlier
// job left is no harm: nobody answers there, or not with that secret, and the others look again until rank 0
// has written its own.
//
//   longship-meeting 1
//   10.0.0.7 192.168.1.7
//   41234
//   5f0c…            (hexadecimal)
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "greeting.h"

namespace longship::collective {

struct MeetingPoint {
  std::vector<std::string> addresses;  // of rank 0's node; not all of them need to be reachable
  int port = 0;
  Bytes secret;
  bool operator==(const MeetingPoint&) const = default;
};

[[nodiscard]] std::string written(const MeetingPoint& point);
[[nodiscard]] std::optional<MeetingPoint> parsed_meeting(std::string_view text);

// Where this node can be reached: its IPv4 addresses, or that of the interface LONGSHIP_INTERFACE names.
[[nodiscard]] std::vector<std::string> addresses_of_this_node(const std::string& interface);

// Rank 0's side: the file is there as long as the object.
class MeetingFile {
 public:
  MeetingFile(std::filesystem::path path, const MeetingPoint& point);
  ~MeetingFile();
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;

 private:
  std::filesystem::path path_;
  bool made_directory_ = false;
};

// The others': nothing while it is not there, incomplete, or another user's.
[[nodiscard]] std::optional<MeetingPoint> read_meeting_file(const std::filesystem::path& path);

}  // namespace longship::collective
