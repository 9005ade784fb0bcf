// SPDX-License-Identifier: Apache-2.0
#include "say.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "text.h"

namespace longship {
namespace {

std::atomic<Verbosity> chosen_verbosity = Verbosity::normal;
std::mutex speaking;
Interruptible* interruptible = nullptr;

void put(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;  // nobody to tell
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string_view prefix(detail::Tone tone, bool coloured) {
  switch (tone) {
    case detail::Tone::warning:
      return coloured ? "\033[33mlongship: warning:\033[0m " : "longship: warning: ";
    case detail::Tone::error:
      return coloured ? "\033[31mlongship: error:\033[0m " : "longship: error: ";
    default:
      return "longship: ";
  }
}

// Names of files and what others said are in it, and must not steer the terminal. Sentences may have several
// lines.
std::string safe_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.push_back(printable(line));
  return join(lines, "\n");
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  chosen_verbosity = verbosity;
}

Verbosity verbosity() {
  return chosen_verbosity;
}

bool understands_escapes(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool wants_colour(int fd) {
  const char* unwanted = std::getenv("NO_COLOR");
  return understands_escapes(fd) && (unwanted == nullptr || *unwanted == '\0');
}

void set_interruptible(Interruptible* line) {
  const std::lock_guard lock(speaking);
  interruptible = line;
}

void detail::say(Tone tone, std::string_view text) {
  if (tone == Tone::note && verbosity() == Verbosity::quiet) return;
  const std::lock_guard lock(speaking);
  if (interruptible != nullptr) interruptible->clear();
  std::string line(prefix(tone, wants_colour(STDERR_FILENO)));
  line.append(safe_lines(text)).push_back('\n');
  put(line);  // one write, so that lines of several processes do not mix
  if (interruptible != nullptr) interruptible->redraw();
}

void complain(std::string_view text) {
  detail::say(detail::Tone::error, text);
}

}  // namespace longship
