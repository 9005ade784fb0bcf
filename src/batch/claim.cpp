// SPDX-License-Identifier: Apache-2.0
#include "claim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"

namespace longship::batch {
namespace {

namespace fs = std::filesystem;

// Field 22 of /proc/PID/stat; the second is a name in parentheses, which may have anything in it.
std::uint64_t start_time_in(std::string_view stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return 0;
  std::size_t at = name_end + 1;
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at);
    if (at == std::string_view::npos) return 0;
    if (field < 21) ++at;
  }
  std::uint64_t time = 0;
  for (++at; at < stat.size() && stat[at] >= '0' && stat[at] <= '9'; ++at)
    time = time * 10 + static_cast<std::uint64_t>(stat[at] - '0');
  return time;
}

std::uint64_t start_time_at(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char bytes[2048];
  const auto got = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  return got <= 0 ? 0 : start_time_in({bytes, static_cast<std::size_t>(got)});
}

bool is_zombie(pid_t pid) {
  try {
    const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
    const auto name_end = stat.rfind(')');
    return name_end != std::string::npos && stat.substr(name_end).starts_with(") Z");
  } catch (const Error&) {
    return true;
  }
}

std::string boot() {
  return std::string(trim(read_file("/proc/sys/kernel/random/boot_id")));
}

std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

template <class Integer>
Integer number_in(std::string_view text, std::string_view where) {
  Integer number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end || number < 0)
    throw Error("{}: expected a number, found \"{}\"", where, printable(text));
  return number;
}

std::vector<int> numbers_in(std::string_view text, std::string_view where) {
  std::vector<int> numbers;
  for (const auto word : split(text, ' ')) numbers.push_back(number_in<int>(word, where));
  return numbers;
}

// "key value" lines.
template <class Work>
void for_each_line(std::string_view text, std::string_view where, Work&& work) {
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto space = line.find(' ');
    if (space == std::string_view::npos)
      throw Error("{}: expected a key and a value, found \"{}\"", where, printable(line));
    work(line.substr(0, space), line.substr(space + 1));
  }
}

}  // namespace

std::string about_this_host() {
  return fmt::format("boot {}\nhost {}\n", boot(), host());
}

std::uint64_t own_start_time() {
  return start_time_at("/proc/self/stat");
}

std::string aside_of(const std::string& path) {
  std::random_device device;
  const fs::path whole(path);
  return (whole.parent_path() /
          fmt::format(".{}.{:08x}{:08x}", whole.filename().string(), device(), device()))
      .string();
}

Claim parse_claim(std::string_view text) {
  Claim claim;
  bool has_pid = false;
  for_each_line(text, "process", [&](std::string_view key, std::string_view value) {
    if (key == "pid") {
      claim.pid = number_in<pid_t>(value, "process: pid");
      has_pid = true;
    } else if (key == "start") {
      claim.start_time = number_in<std::uint64_t>(value, "process: start");
    } else if (key == "boot") {
      claim.boot = value;
    } else if (key == "host") {
      claim.host = value;
    } else if (key == "cores") {
      claim.cores = numbers_in(value, "process: cores");
    } else if (key == "gpus") {
      claim.gpus = numbers_in(value, "process: gpus");
    }
  });
  if (!has_pid) throw Error("process: it names no pid");
  return claim;
}

bool claim_as_cancelled(const fs::path& place) {
  const auto process = (place / "process").string(), aside = aside_of(process);
  write_file(aside, "pid 0\n", 0600);
  const int number = ::link(aside.c_str(), process.c_str()) == 0 ? 0 : errno;
  ::unlink(aside.c_str());
  if (number == EEXIST) return false;
  if (number != 0) throw Error::from_errno(number, "cannot make {}", process);
  sync_directory(place);
  return true;
}

Life life_of(const Claim& claim) {
  if (claim.pid == 0) return Life::gone;
  if (claim.host != host()) return Life::elsewhere;
  if (claim.boot != boot()) return Life::gone;
  const auto started = start_time_at(fmt::format("/proc/{}/stat", claim.pid).c_str());
  return started != 0 && started == claim.start_time && !is_zombie(claim.pid) ? Life::alive : Life::gone;
}

void signal_supervisor(const Claim& claim, int number) {
  // Held before it is looked at, so that the number cannot change hands in between.
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, claim.pid, 0)));
  if (life_of(claim) != Life::alive) return;
  const bool sent = handle ? ::syscall(SYS_pidfd_send_signal, handle.get(), number, nullptr, 0) == 0
                           : ::kill(claim.pid, number) == 0;  // before Linux 5.3
  if (!sent && errno != ESRCH) throw Error::from_errno(errno, "cannot signal process {}", claim.pid);
}

End parse_end(std::string_view text) {
  End end;
  bool has_kind = false;
  for_each_line(text, "ended", [&](std::string_view key, std::string_view value) {
    const bool is_kind = key == "exited" || key == "killed" || key == "not-started";
    if (is_kind) {
      end.kind = key == "exited"   ? End::Kind::exited
                 : key == "killed" ? End::Kind::killed
                                   : End::Kind::not_started;
      end.number = number_in<int>(value, "ended: " + std::string(key));
      has_kind = true;
    } else if (key == "asked") {
      end.asked = value == "cancel"     ? End::Asked::cancel
                  : value == "walltime" ? End::Asked::walltime
                                        : End::Asked::nobody;
    }
  });
  if (!has_kind) throw Error("ended: it does not say how");
  return end;
}

}  // namespace longship::batch
