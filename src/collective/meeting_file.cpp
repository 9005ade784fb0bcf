// SPDX-License-Identifier: Apache-2.0
#include "meeting_file.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "hex.h"

namespace longship::collective {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "longship-meeting 1";
constexpr std::size_t longest_meeting_file = 1 << 16;

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

// True if the directory had to be made. Another job may just take it away again, as its own.
bool write_in_directory(const fs::path& path, const std::string& text) {
  for (int attempt = 0;; ++attempt) {
    std::error_code ignored;
    const bool made = fs::create_directories(path.parent_path(), ignored);
    if (made) ::chmod(path.parent_path().c_str(), 0700);
    try {
      write_file(path, text, 0600);
      return made;
    } catch (const Error&) {
      if (attempt == 3) throw;
    }
  }
}

}  // namespace

std::string written(const MeetingPoint& point) {
  std::string text = fmt::format("{}\n", first_line);
  for (std::size_t i = 0; i < point.addresses.size(); ++i) text += (i > 0 ? " " : "") + point.addresses[i];
  return text + fmt::format("\n{}\n{}\n", point.port, to_hex(point.secret));
}

std::optional<MeetingPoint> parsed_meeting(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string title, addresses, port, secret, rest;
  if (!std::getline(lines, title) || title != first_line) return {};
  if (!std::getline(lines, addresses) || !std::getline(lines, port) || !std::getline(lines, secret))
    return {};
  MeetingPoint point;
  std::istringstream words(addresses);
  for (std::string word; words >> word;) point.addresses.push_back(word);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), point.port);
  if (error != std::errc{} || end != port.data() + port.size() || point.port < 1 || point.port > 65535)
    return {};
  auto bytes = from_hex(secret);
  if (!bytes || bytes->size() < 16 || point.addresses.empty()) return {};
  point.secret = std::move(*bytes);
  return point;
}

std::vector<std::string> addresses_of_this_node(const std::string& interface) {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw Error::from_errno(errno, "cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const auto* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0)
      continue;
    if (interface.empty() ? (at->ifa_flags & IFF_LOOPBACK) != 0 : interface != at->ifa_name) continue;
    char text[INET_ADDRSTRLEN];
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text, sizeof text);
    found.emplace_back(text);
  }
  if (found.empty() && !interface.empty())
    throw Error("LONGSHIP_INTERFACE is {}, but no interface of that name has an IPv4 address", interface);
  if (interface.empty())
    found.emplace_back("127.0.0.1");  // nodes that are pretended, and networks that are down
  return found;
}

MeetingFile::MeetingFile(fs::path path, const MeetingPoint& point) : path_(std::move(path)) {
  within("cannot leave word for the other ranks",
         [&] { made_directory_ = write_in_directory(path_, written(point)); });
}

MeetingFile::~MeetingFile() {
  ::unlink(path_.c_str());
  if (made_directory_) ::rmdir(path_.parent_path().c_str());  // stays if others meet there too
}

std::optional<MeetingPoint> read_meeting_file(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != ::geteuid())
    return {};
  std::string text(longest_meeting_file, '\0');
  const auto length = ::read(file.get(), text.data(), text.size());
  if (length <= 0) return {};
  text.resize(static_cast<std::size_t>(length));
  return parsed_meeting(text);
}

}  // namespace longship::collective
