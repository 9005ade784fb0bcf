// SPDX-License-Identifier: Apache-2.0
// Progress for the person who waits, on stderr: on a terminal one line that is redrawn, elsewhere (a batch
// log) a plain line at the beginning, at the end and now and then between; nothing with -q.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "base/say.h"

namespace longship::cli {

// Where it is drawn, and what can be done there.
struct Terminal {
  int fd = 2;
  bool live = false;    // a line can be redrawn
  bool colour = false;  // a terminal, and NO_COLOR is not set
  int columns = 0;      // 0: asked of it each time
};
[[nodiscard]] Terminal terminal(int fd = 2);

// For commands that do one long thing: bar, rate and time left.
[[nodiscard]] std::unique_ptr<Progress> make_progress();
[[nodiscard]] std::unique_ptr<Progress> make_progress(const Terminal& terminal, const Clock& clock);

// One line at the bottom of the terminal; it steps aside for the messages of base/say.h.
class LiveLine final : public Interruptible {
 public:
  LiveLine();
  LiveLine(const Terminal& terminal, const Clock& clock);
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine() override;  // finishes

  // "training": `done` of `total` (0: not known) steps, and words behind them. May be called as often as one
  // likes.
  struct State {
    std::string_view what;
    std::uint64_t done = 0, total = 0;
    std::string_view counted;  // "12/30 steps", "1.2 GB of 2.9 GB"
    std::string_view details;  // "loss 0.21  4 180 samples/s"
  };
  void show(const State& state);

  // Draws the latest state once more and leaves it there.
  void finish();
  // Takes it away without a trace.
  void abandon();

  void clear() override;
  void redraw() override;

 private:
  [[nodiscard]] std::string words() const;
  void draw(Instant now);
  void erase();

  const Terminal terminal_;
  const Clock& clock_;
  std::mutex mutex_;  // say() comes from any thread
  struct {
    std::string what;
    std::uint64_t done = 0, total = 0;
    std::string counted, details;
  } state_;
  std::string drawn_;         // as it was drawn last
  bool begun_ = false;        // something was drawn
  bool shown_ = true;         // state_ is what was drawn last
  bool on_screen_ = false;    // the cursor stands behind it
  bool interrupted_ = false;  // a message is being written
  Instant last_{};
};

// "12/30 steps", or "12 steps" while the total is not known.
[[nodiscard]] std::string steps_words(std::uint64_t step, std::uint64_t steps);
// "loss 0.21  4 180 samples/s": a value whose name is a rate stands before it.
[[nodiscard]] std::string metrics_words(const std::vector<std::pair<std::string, double>>& values);

// The line as it is drawn: what, bar, counted, details; cut to the columns.
[[nodiscard]] std::string progress_words(const LiveLine::State& state, const Terminal& terminal);
// On a terminal each line is cut to its columns, so that a table stays one; elsewhere nothing is lost.
[[nodiscard]] std::string fit_lines(std::string_view text, const Terminal& terminal);
// To show it: relative to where we are, if that leads down from here. A job chose the last part of it.
[[nodiscard]] std::string from_here(const std::filesystem::path& path);
// `cells` wide, filled to an eighth of a cell.
[[nodiscard]] std::string bar(double share, int cells);

}  // namespace longship::cli
