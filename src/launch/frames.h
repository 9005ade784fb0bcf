// SPDX-License-Identifier: Apache-2.0
// What a node's helper and the launcher say to each other through the batch system's own pipes (srun carries
// stdin to every task and stdout back), so that nothing has to listen, no file has to appear on a shared file
// system, and the death of either side is seen by the other as the end of a stream.
//
//   launcher → helpers, a line each:  the plan; the rendezvous; orders: "checkpoint", "stop", at last "leave"
//   helper → launcher, frames:        KIND NUMBER " " payload "\n"
//     o, e  the payload is a line of rank NUMBER's stdout or stderr
//     c     the payload is a word (JSON) from the helper of node NUMBER
//     O, E, C  the same, and what is said goes on in the next frame of this source
//
// srun mixes the lines of several tasks, but keeps those of up to 1024 bytes whole; not, however, what it
// still has to carry when a task ends: so no helper ends before all have been heard to their last word.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lines.h"
#include "node.h"
#include "output.h"

namespace longship::launch {

// Orders of the launcher. Whatever else it says, or its end, means: stop.
inline constexpr std::string_view checkpoint_order = "checkpoint";  // ask the ranks for one, and go on
inline constexpr std::string_view stop_order = "stop";
inline constexpr std::string_view leave_order = "leave";  // everything has been heard

// Words of a helper.
struct Hello {
  std::string node;  // its name
};
struct Failed {
  FailedRank rank;
};
struct Ended {
  Cause cause = Cause::finished;
  int exit_code = 0;
};
struct Trouble {  // the ranks could not be started
  Failure failure = Failure::failed;
  std::string text;
};
using Word = std::variant<Hello, Rendezvous, Failed, Ended, Trouble>;

[[nodiscard]] std::string to_json(const Word& word);
[[nodiscard]] Word word_from_json(std::string_view text);
[[nodiscard]] std::string to_json(const Rendezvous& rendezvous);
[[nodiscard]] Rendezvous rendezvous_from_json(std::string_view text);

// The helper's side.
class FrameSink final : public Sink {
 public:
  explicit FrameSink(int fd) : outlet_(fd) {}
  void say(int node, const Word& word);
  void take(int rank, Stream stream, std::string_view bytes) override;
  void finish() override {}
  std::vector<Outlet*> outlets() override { return {&outlet_}; }

 private:
  void frame(char kind, int number, std::string_view payload);
  Outlet outlet_;
};

// The launcher's side: frames sorted by what they are. What is not a frame comes from the batch system.
class FrameReader {
 public:
  struct Handlers {
    std::function<void(int rank, Stream stream, std::string_view bytes)> output;
    std::function<void(int node, const Word& word)> word;
    std::function<void(std::string_view line)> other;
  };
  explicit FrameReader(Handlers handlers) : handlers_(std::move(handlers)) {}
  void feed(std::string_view bytes);

 private:
  void on_line(std::string_view line);
  void on_word(int node, std::string_view piece, bool complete);
  Handlers handlers_;
  LineSplitter lines_{2048};
  std::map<int, std::string> words_;  // begun, per node
};

}  // namespace longship::launch
