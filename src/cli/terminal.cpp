// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "formats/number.h"
#include "formats/units.h"
#include "table.h"

namespace longship::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto between_draws = 100ms;
constexpr auto between_lines = 10s;  // where nothing can be redrawn: a log that stays readable

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

int columns_of(const Terminal& terminal) {
  if (terminal.columns > 0) return terminal.columns;
  winsize size{};
  return ::ioctl(terminal.fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void put(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;  // nobody to tell
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string amount(std::uint64_t number, std::string_view unit) {
  return unit == "B" ? formats::human_bytes(number) : formats::grouped(number);
}

// A Progress that is shown as a line with rate and time left.
class LineProgress final : public Progress {
 public:
  LineProgress(const Terminal& terminal, const Clock& clock) : terminal_(terminal), clock_(clock) {}

  void begin(std::string_view what, std::uint64_t total, std::string_view unit) override {
    what_ = what;
    total_ = total;
    unit_ = unit;
    done_ = 0;
    begun_ = clock_.now();
    line_ = std::make_unique<LiveLine>(terminal_, clock_);
    tell();
  }

  void update(std::uint64_t done) override {
    done_ = done;
    const auto now = clock_.now();
    if (line_ == nullptr || now - told_ < between_draws) return;
    tell();
  }

  void end() override {
    if (line_ == nullptr) return;
    tell();
    line_->finish();
    line_.reset();
  }

 private:
  void tell() {
    told_ = clock_.now();
    line_->show({.what = what_, .done = done_, .total = total_, .counted = counted(), .details = details()});
  }

  // Some work has nothing that could be counted.
  bool is_counted() const { return total_ > 0 || !unit_.empty(); }

  std::string counted() const {
    if (!is_counted()) return {};
    const std::string of =
        total_ > 0 ? amount(done_, unit_) + " of " + amount(total_, unit_) : amount(done_, unit_);
    return unit_ == "B" ? of : fmt::format("{} {}", of, unit_);
  }

  std::string details() const {
    const double seconds = std::chrono::duration<double>(told_ - begun_).count();
    if (seconds < 1 || (is_counted() && done_ == 0)) return {};
    if (!is_counted()) return formats::human_seconds(seconds);
    const double rate = static_cast<double>(done_) / seconds;
    std::string words = fmt::format("{}/s", amount(static_cast<std::uint64_t>(rate), unit_));
    if (total_ > done_)
      words += fmt::format("  {} left", formats::human_seconds(static_cast<double>(total_ - done_) / rate));
    return words;
  }

  const Terminal terminal_;
  const Clock& clock_;
  std::unique_ptr<LiveLine> line_;
  std::string what_, unit_;
  std::uint64_t total_ = 0, done_ = 0;
  Instant begun_{}, told_{};
};

}  // namespace

Terminal terminal(int fd) {
  return {.fd = fd, .live = understands_escapes(fd), .colour = wants_colour(fd), .columns = 0};
}

std::unique_ptr<Progress> make_progress() {
  return make_progress(terminal(STDERR_FILENO), system_clock());
}

std::unique_ptr<Progress> make_progress(const Terminal& terminal, const Clock& clock) {
  if (verbosity() == Verbosity::quiet) return std::make_unique<NoProgress>();
  return std::make_unique<LineProgress>(terminal, clock);
}

LiveLine::LiveLine() : LiveLine(terminal(STDERR_FILENO), system_clock()) {}

LiveLine::LiveLine(const Terminal& terminal, const Clock& clock) : terminal_(terminal), clock_(clock) {
  if (terminal_.live) set_interruptible(this);
}

LiveLine::~LiveLine() {
  finish();
}

void LiveLine::show(const State& state) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.now();
  state_ = {std::string(state.what), state.done, state.total, std::string(state.counted),
            std::string(state.details)};
  shown_ = false;
  const auto pause = terminal_.live ? Duration(between_draws) : Duration(between_lines);
  if (!begun_ || now - last_ >= pause) draw(now);
}

void LiveLine::finish() {
  if (terminal_.live) set_interruptible(nullptr);
  const std::lock_guard lock(mutex_);
  if (!shown_ && words() != drawn_) draw(clock_.now());
  if (terminal_.live && on_screen_) put(terminal_.fd, "\n");
  on_screen_ = false;
  shown_ = true;
}

void LiveLine::abandon() {
  if (terminal_.live) set_interruptible(nullptr);
  const std::lock_guard lock(mutex_);
  erase();
  shown_ = true;
}

void LiveLine::clear() {
  const std::lock_guard lock(mutex_);
  erase();
  interrupted_ = true;
}

void LiveLine::redraw() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  if (begun_) draw(clock_.now());
}

void LiveLine::draw(Instant now) {
  if (verbosity() == Verbosity::quiet || interrupted_) return;
  drawn_ = words();
  put(terminal_.fd, terminal_.live ? "\r" + drawn_ + "\033[K" : drawn_ + "\n");
  begun_ = true;
  shown_ = true;
  on_screen_ = terminal_.live;
  last_ = now;
}

std::string LiveLine::words() const {
  return progress_words({.what = state_.what,
                         .done = state_.done,
                         .total = state_.total,
                         .counted = state_.counted,
                         .details = state_.details},
                        terminal_);
}

void LiveLine::erase() {
  if (on_screen_) put(terminal_.fd, "\r\033[K");
  on_screen_ = false;
}

std::string steps_words(std::uint64_t step, std::uint64_t steps) {
  return steps > 0 ? fmt::format("{}/{} steps", formats::grouped(step), formats::grouped(steps))
                   : fmt::format("{} steps", formats::grouped(step));
}

std::string metrics_words(const std::vector<std::pair<std::string, double>>& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) {
    const bool rate = name.ends_with("/s");
    const auto number = formats::human_value(value);
    words.push_back(rate ? number + " " + printable(name) : printable(name) + " " + number);
  }
  return join(words, "  ");
}

std::string progress_words(const LiveLine::State& state, const Terminal& terminal) {
  constexpr int bar_cells = 20;
  std::string line(state.what);
  // The bar is the first to go where there is little room: the numbers say more.
  const int columns = columns_of(terminal);
  const auto words = static_cast<int>(width(state.what) + width(state.counted) + width(state.details));
  if (terminal.live && state.total > 0 && words + bar_cells + 8 <= columns) {
    const auto drawn = bar(static_cast<double>(state.done) / static_cast<double>(state.total), bar_cells);
    line += terminal.colour ? " \033[36m" + drawn + "\033[0m" : " " + drawn;
  }
  if (!state.counted.empty()) line.append(" ").append(state.counted);
  if (!state.details.empty()) line.append("  ").append(state.details);
  return terminal.live ? cut_to_width(line, static_cast<std::size_t>(columns - 1)) : line;
}

std::string bar(double share, int cells) {
  static constexpr std::array<std::string_view, 8> parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double bounded = share > 0 ? std::min(share, 1.0) : 0;  // also NaN
  const int eighths = static_cast<int>(std::floor(bounded * cells * 8));
  std::string drawn;
  for (int i = 0; i < eighths / 8; ++i) drawn += "█";
  drawn += parts[static_cast<std::size_t>(eighths % 8)];
  const int empty = cells - eighths / 8 - (eighths % 8 != 0 ? 1 : 0);
  drawn.append(static_cast<std::size_t>(empty), ' ');
  return drawn;
}

std::string from_here(const std::filesystem::path& path) {
  const auto near = path.lexically_relative(std::filesystem::current_path());
  return printable((near.empty() || near.native().starts_with("..") ? path : near).native());
}

std::string fit_lines(std::string_view text, const Terminal& terminal) {
  if (!terminal.live) return std::string(text);
  const auto columns = static_cast<std::size_t>(columns_of(terminal));
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n'))
    lines.push_back(width(line) <= columns ? std::string(line) : cut_to_width(line, columns - 1) + "…");
  return join(lines, "\n");
}

}  // namespace longship::cli
