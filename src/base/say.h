// SPDX-License-Identifier: Apache-2.0
// Words to the person at the terminal, on stderr: results go to stdout and are the commands' own business.
#pragma once
#include <fmt/core.h>

#include <string>
#include <string_view>

namespace longship {

enum class Verbosity { quiet, normal, verbose };
void set_verbosity(Verbosity verbosity);
[[nodiscard]] Verbosity verbosity();

namespace detail {
enum class Tone { note, detail, warning, error };
void say(Tone tone, std::string_view text);
}  // namespace detail

// What a user wants to know: one line.
template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  detail::say(detail::Tone::note, fmt::vformat(format, fmt::make_format_args(args...)));
}
// Only with -v: which way was chosen, and why.
template <class... Args>
void explain(fmt::format_string<Args...> format, Args&&... args) {
  if (verbosity() == Verbosity::verbose)
    detail::say(detail::Tone::detail, fmt::vformat(format, fmt::make_format_args(args...)));
}
// Something is not as it should be; it goes on.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  detail::say(detail::Tone::warning, fmt::vformat(format, fmt::make_format_args(args...)));
}
// "longship: error: …"; cli calls it once.
void complain(std::string_view text);

// Whether escape sequences mean something there, and colours are welcome: a terminal, not a dumb one, and no
// NO_COLOR (no-color.org).
[[nodiscard]] bool understands_escapes(int fd);
[[nodiscard]] bool wants_colour(int fd);

// A progress line in the way of say(): cli's bar registers itself, so that a message does not land inside it.
class Interruptible {
 public:
  virtual ~Interruptible() = default;
  virtual void clear() = 0;   // before a message is written
  virtual void redraw() = 0;  // after it
};
void set_interruptible(Interruptible* line);  // null: none

}  // namespace longship
