// SPDX-License-Identifier: Apache-2.0
#include "across.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "allocation.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "frames.h"
#include "poll.h"

namespace longship::launch {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The nodes are to the launcher what ranks are to a node: the same Supervisor watches them. Its SIGTERM is
// the word "stop" to all helpers, its SIGKILL is a SIGTERM to srun, which then kills every task.
class Across {
 public:
  Across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
         Surroundings& surroundings);
  Result run();

 private:
  void turn();
  void feed(const Input& input);
  void act(const Actions& actions);
  void on_word(int node, const Word& word);
  void on(int node, const Hello& hello);
  void on(int node, const Rendezvous& rendezvous);
  void on(int node, const Failed& failed);
  void on(int node, const Ended& ended);
  void on(int node, const Trouble& trouble);
  void read_frames();
  void read_errors();
  void srun_ended(const Ending& ending);
  [[nodiscard]] Result result() const;

  const Plan& plan_;
  Screen& screen_;
  Surroundings& around_;
  Supervisor supervisor_;
  FrameReader frames_;
  Pipe input_ = make_pipe(), output_ = make_pipe(), errors_ = make_pipe();
  Outlet orders_{input_.write.get()};
  LineSplitter error_lines_;
  std::vector<std::string> said_by_srun_;
  Process srun_;
  bool stop_sent_ = false, gone_ = false, stopped_from_outside_ = false;
  std::optional<FailedRank> failure_;
  std::optional<Trouble> trouble_;
};

Command srun_command(const Plan& plan, const std::vector<std::string>& helper, const Pipe& input,
                     const Pipe& output, const Pipe& errors) {
  Command command;
  command.arguments = start_on_nodes(plan.nodes(), helper);
  command.input = input.read.get();
  command.output = output.write.get();
  command.errors = errors.write.get();
  return command;
}

Across::Across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
               Surroundings& surroundings)
    : plan_(plan),
      screen_(screen),
      around_(surroundings),
      supervisor_(plan.nodes(), plan.grace + 5s),  // the helpers need theirs first
      frames_({[this](int rank, Stream stream, std::string_view bytes) { screen_.take(rank, stream, bytes); },
               [this](int node, const Word& word) { on_word(node, word); },
               [](std::string_view line) { explain("srun: {}", printable(line)); }}),
      srun_(srun_command(plan, helper, input_, output_, errors_)) {
  input_.read.reset();
  output_.write.reset();
  errors_.write.reset();
  for (const int fd : {input_.write.get(), output_.read.get(), errors_.read.get()})
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  orders_.add(to_json(plan) + "\n");
}

Result Across::run() {
  while (!gone_) {
    turn();
    if (around_.tick) around_.tick();
    if (around_.stop && around_.stop()) feed(StopRequested{});
    feed(TimePassed{});
  }
  screen_.finish();
  flush(screen_, around_.interruptions);
  if (trouble_) throw Error(trouble_->failure, "{}", trouble_->text);
  return result();
}

void Across::turn() {
  Poll poll;
  poll.add(around_.interruptions.fd(), POLLIN, [this] {
    while (const auto number = around_.interruptions.take()) feed(SignalReceived{*number});
  });
  if (orders_.waiting()) poll.add(orders_.fd(), POLLOUT, [this] { orders_.write_some(); });
  add_outlets(poll, screen_);
  if (!is_full(screen_)) poll.add(output_.read.get(), POLLIN, [this] { read_frames(); });
  poll.add(errors_.read.get(), POLLIN, [this] { read_errors(); });
  const bool streams_ended = !output_.read && !errors_.read;
  poll.wait(streams_ended ? 10ms : 200ms);
  if (const auto ending = srun_.wait(0ms); ending && (streams_ended || !is_full(screen_)))
    srun_ended(*ending);
}

void Across::feed(const Input& input) {
  act(supervisor_.step(std::chrono::steady_clock::now(), input));
}

void Across::act(const Actions& actions) {
  for (const auto& action : actions) {
    if (action.number == SIGKILL) {
      srun_.signal(SIGTERM);
      return;
    }
    if (!stop_sent_) orders_.add("stop\n");
    stop_sent_ = true;
  }
}

void Across::on_word(int node, const Word& word) {
  if (node < 0 || node >= plan_.nodes()) throw Error("there is no node {} in this launch", node);
  std::visit([&](const auto& what) { on(node, what); }, word);
}

void Across::on(int node, const Hello& hello) {
  screen_.name_node(plan_.first_rank(node), plan_.ranks[static_cast<std::size_t>(node)], hello.node);
}

void Across::on(int, const Rendezvous& rendezvous) {
  explain("rank 0 waits for the others at {}:{}", rendezvous.host, rendezvous.port);
  orders_.add(to_json(rendezvous) + "\n");
}

void Across::on(int node, const Failed& failed) {
  if (supervisor_.cause() == Cause::finished) failure_ = failed.rank;  // the first is the one that counts
  feed(RankEnded{node, failed.rank.ending});
}

// A failure has been told before; whoever was stopped without our asking was stopped by the batch system.
void Across::on(int node, const Ended& ended) {
  const bool by_itself = ended.cause == Cause::finished || ended.cause == Cause::rank_failed;
  if (!by_itself && supervisor_.cause() == Cause::finished) stopped_from_outside_ = true;
  feed(RankEnded{node, {}});
}

void Across::on(int node, const Trouble& trouble) {
  if (!trouble_ && supervisor_.cause() == Cause::finished) trouble_ = trouble;
  feed(RankEnded{node, {static_cast<int>(trouble.failure), 0}});
}

void Across::read_frames() {
  char buffer[65536];
  const auto got = ::read(output_.read.get(), buffer, sizeof buffer);
  if (got == 0) output_.read.reset();
  if (got > 0) frames_.feed({buffer, static_cast<std::size_t>(got)});
}

// srun's own words matter only if no helper could tell what happened.
void Across::read_errors() {
  char buffer[65536];
  const auto got = ::read(errors_.read.get(), buffer, sizeof buffer);
  if (got == 0) errors_.read.reset();
  if (got <= 0) return;
  error_lines_.feed({buffer, static_cast<std::size_t>(got)}, [this](std::string_view line) {
    explain("{}", printable(line));
    said_by_srun_.emplace_back(line);
    if (said_by_srun_.size() > 20) said_by_srun_.erase(said_by_srun_.begin());
  });
}

void Across::srun_ended(const Ending& ending) {
  gone_ = true;
  // A process that escaped may hold the pipe open: take what is in it, do not wait for its end.
  while (output_.read) {
    if (is_full(screen_)) flush(screen_, around_.interruptions);
    pollfd polled{output_.read.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0) break;
    read_frames();
  }
  const bool all_told = supervisor_.done() && !stopped_from_outside_;
  if (all_told || supervisor_.cause() != Cause::finished) return;
  for (const auto& line : said_by_srun_) note("{}", printable(line));
  throw Error("srun {} before all ranks had ended", ending.sentence());
}

Result Across::result() const {
  Result result{supervisor_.exit_code(), supervisor_.cause(), failure_};
  return result;
}

}  // namespace

Result run_across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                  Surroundings& surroundings) {
  return Across(plan, helper, screen, surroundings).run();
}

}  // namespace longship::launch
