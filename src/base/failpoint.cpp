// SPDX-License-Identifier: Apache-2.0
#include "failpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "error.h"
#include "text.h"

namespace longship::detail {
namespace {

struct Point {
  std::string what;
  int after = 1;  // passes until it acts
};

std::map<std::string, Point, std::less<>> read_points(std::string_view text) {
  std::map<std::string, Point, std::less<>> points;
  for (const auto& word : split(text, ',')) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    auto what = word.substr(equals + 1);
    Point point;
    if (const auto colon = what.find(':'); colon != std::string_view::npos) {
      std::from_chars(what.data() + colon + 1, what.data() + what.size(), point.after);
      what = what.substr(0, colon);
    }
    point.what = what;
    points.emplace(word.substr(0, equals), point);
  }
  return points;
}

std::string_view variable() {
  const char* text = ::secure_getenv("LONGSHIP_FAILPOINTS");
  return text == nullptr ? std::string_view() : text;
}

// Whether nobody passed it before us: whoever makes the file first.
bool is_first(std::string_view name) {
  const char* marks = ::secure_getenv("LONGSHIP_FAILPOINT_MARKS");
  if (marks == nullptr) return true;
  const auto mark = fmt::format("{}/{}", marks, name);
  const int fd = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

}  // namespace

const bool failpoints_set = !variable().empty();

void pass_failpoint(std::string_view name) {
  static std::mutex mutex;
  static auto points = read_points(variable());
  std::string what;
  {
    const std::lock_guard lock(mutex);
    const auto found = points.find(name);
    if (found == points.end() || --found->second.after != 0) return;
    what = found->second.what;
  }
  if (!is_first(name)) return;
  if (what == "kill") ::kill(::getpid(), SIGKILL);
  if (what == "stop") ::kill(::getpid(), SIGSTOP);
  if (what == "fail") throw Error("failpoint {}", name);
}

}  // namespace longship::detail
