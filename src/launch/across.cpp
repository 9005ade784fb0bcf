// SPDX-License-Identifier: Apache-2.0
#include "across.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>

#include "allocation.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "engine_start.h"
#include "frames.h"
#include "poll.h"
#include "reception.h"

namespace longship::launch {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Where helpers speak to us: all of them through the starter's pipes, or each through a connection.
struct Channel {
  Channel(Fd from, Fd to, FrameReader::Handlers handlers)
      : input(std::move(from)), output(std::move(to)), orders(this->to()), frames(std::move(handlers)) {
    ::fcntl(input.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(this->to(), F_SETFL, O_NONBLOCK);
  }
  [[nodiscard]] int to() const { return output ? output.get() : input.get(); }  // a socket goes both ways
  Fd input, output;
  Outlet orders;
  FrameReader frames;
};

// The helpers are to the launcher what ranks are to a node: the same Supervisor watches them. Its SIGTERM is
// the word "stop" to all helpers, its SIGKILL is a SIGTERM to srun, which then kills every task.
class Across {
 public:
  Across(const Plan& plan, const Starter& starter, Screen& screen, Surroundings& surroundings);
  Result run();

 private:
  void turn();
  void feed(const Input& input);
  void act(const Actions& actions);
  void order(std::string_view word);
  void order_checkpoint();
  void let_go(int node);
  void on_word(int node, const Word& word);
  void on(int node, const Hello& hello);
  void on(int node, const Rendezvous& rendezvous);
  void on(int node, const Failed& failed);
  void on(int node, const Ended& ended);
  void on(int node, const Trouble& trouble);
  void open_channel(Fd input, Fd output);
  void admit();
  void read_frames(Channel& channel);
  void read_rest(Channel& channel);
  void read_lines(Fd& pipe);
  void starter_ended(const Ending& ending);
  [[nodiscard]] int helpers() const { return plan_.mpi ? plan_.size() : plan_.nodes(); }
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] bool streams_ended() const;
  [[nodiscard]] Result result() const;

  const Plan& plan_;
  Screen& screen_;
  Surroundings& around_;
  Supervisor supervisor_;
  int meeting_;
  std::string name_;  // of the starter: "srun"
  Pipe input_ = make_pipe(), output_ = make_pipe(), errors_ = make_pipe();
  std::vector<std::unique_ptr<Channel>> channels_;
  std::string ordered_;  // all so far, for who comes later
  LineSplitter error_lines_;
  std::vector<std::string> said_by_starter_;
  Process starter_;
  bool heard_ = false, rendezvous_sent_ = false, checkpoint_asked_ = false;
  bool stop_sent_ = false, gone_ = false, stopped_from_outside_ = false;
  std::set<int> said_all_;  // helpers that wait to be let go
  std::optional<FailedRank> failure_;
  std::optional<Trouble> trouble_;
  std::optional<Result> abort_;  // the MPI itself ended the ranks
};

Command command_of(const Starter& starter, const Pipe& input, const Pipe& output, const Pipe& errors) {
  Command command;
  command.arguments = starter.command;
  command.environment = current_environment();
  if (!starter.meeting_name.empty()) (*command.environment)["LONGSHIP_LAUNCHER"] = starter.meeting_name;
  command.input = input.read.get();
  command.output = output.write.get();
  command.errors = errors.write.get();
  return command;
}

Across::Across(const Plan& plan, const Starter& starter, Screen& screen, Surroundings& surroundings)
    : plan_(plan),
      screen_(screen),
      around_(surroundings),
      supervisor_(helpers(), plan.grace + 5s),  // the helpers need theirs first
      meeting_(starter.meeting),
      name_(starter.name.empty() ? std::filesystem::path(starter.command.at(0)).filename().string()
                                 : starter.name),
      starter_(command_of(starter, input_, output_, errors_)) {
  input_.read.reset();
  output_.write.reset();
  errors_.write.reset();
  ::fcntl(errors_.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(output_.read.get(), F_SETFL, O_NONBLOCK);
  if (meeting_ < 0) open_channel(std::move(output_.read), std::move(input_.write));
  order(to_json(plan));
}

void Across::open_channel(Fd input, Fd output) {
  channels_.push_back(std::make_unique<Channel>(
      std::move(input), std::move(output),
      FrameReader::Handlers{
          [this](int rank, Stream stream, std::string_view bytes) { screen_.take(rank, stream, bytes); },
          [this](int node, const Word& word) { on_word(node, word); },
          [this](std::string_view line) { explain("{}: {}", name_, printable(line)); }}));
  channels_.back()->orders.add(ordered_);
}

void Across::admit() {
  Fd connection = admit_helper(meeting_);
  if (connection) open_channel(std::move(connection), {});
}

Result Across::run() {
  while (!gone_) {
    turn();
    if (around_.tick) around_.tick();
    if (around_.stop && around_.stop()) feed(StopRequested{});
    if (!checkpoint_asked_ && around_.checkpoint && around_.checkpoint()) order_checkpoint();
    feed(TimePassed{});
  }
  screen_.finish();
  flush(screen_, around_.interruptions);
  if (trouble_) throw Error(trouble_->failure, "{}", trouble_->text);
  return abort_ ? *abort_ : result();
}

void Across::turn() {
  Poll poll;
  poll.add(around_.interruptions.fd(), POLLIN, [this] {
    while (const auto number = around_.interruptions.take()) feed(SignalReceived{*number});
  });
  poll.add(meeting_, POLLIN, [this] { admit(); });
  for (const auto& owned : channels_) {
    Channel* const channel = owned.get();
    if (channel->input && channel->orders.waiting())
      poll.add(channel->to(), POLLOUT, [channel] { channel->orders.write_some(); });
    if (!is_full(screen_)) poll.add(channel->input.get(), POLLIN, [this, channel] { read_frames(*channel); });
  }
  add_outlets(poll, screen_);
  for (Fd* pipe : {&output_.read, &errors_.read})
    poll.add(pipe->get(), POLLIN, [this, pipe] { read_lines(*pipe); });
  const bool ended = streams_ended();
  poll.wait(ended ? 10ms : 200ms);
  if (const auto ending = starter_.wait(0ms); ending && (ended || !is_full(screen_))) starter_ended(*ending);
}

bool Across::streams_ended() const {
  return !output_.read && !errors_.read &&
         std::all_of(channels_.begin(), channels_.end(), [](const auto& channel) { return !channel->input; });
}

void Across::feed(const Input& input) {
  act(supervisor_.step(std::chrono::steady_clock::now(), input));
}

void Across::act(const Actions& actions) {
  for (const auto& action : actions) {
    if (action.number == SIGKILL) {
      starter_.signal(SIGTERM);
      return;
    }
    if (!stop_sent_) order(stop_order);
    stop_sent_ = true;
  }
}

void Across::order(std::string_view word) {
  const auto line = std::string(word) + "\n";
  ordered_ += line;
  for (const auto& channel : channels_) channel->orders.add(line);
}

// The plan and the rendezvous come first: a helper reads them as such.
void Across::order_checkpoint() {
  if (!rendezvous_sent_) return;
  checkpoint_asked_ = true;
  order(checkpoint_order);
}

void Across::on_word(int node, const Word& word) {
  if (node < 0 || node >= helpers()) throw Error("there is no helper {} in this launch", node);
  std::visit([&](const auto& what) { on(node, what); }, word);
}

void Across::on(int node, const Hello& hello) {
  heard_ = true;
  if (plan_.mpi)
    screen_.name_node(node, plan_.nodes() > 1 ? 1 : 0, hello.node);
  else if (plan_.nodes() > 1 || !uses_engine(plan_))  // one container on this machine is no other place
    screen_.name_node(plan_.first_rank(node), plan_.ranks[static_cast<std::size_t>(node)], hello.node);
}

void Across::on(int, const Rendezvous& rendezvous) {
  explain("rank 0 waits for the others at {}:{}", rendezvous.host, rendezvous.port);
  order(to_json(rendezvous));
  rendezvous_sent_ = true;
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
  let_go(node);
}

void Across::on(int node, const Trouble& trouble) {
  if (!trouble_ && supervisor_.cause() == Cause::finished) trouble_ = trouble;
  feed(RankEnded{node, {static_cast<int>(trouble.failure), 0}});
  let_go(node);
}

// All together: what one is told, all are.
void Across::let_go(int node) {
  said_all_.insert(node);
  if (static_cast<int>(said_all_.size()) == helpers()) order(leave_order);
}

void Across::read_frames(Channel& channel) {
  char buffer[65536];
  const auto got = ::read(channel.input.get(), buffer, sizeof buffer);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) channel.input.reset();
  if (got > 0) channel.frames.feed({buffer, static_cast<std::size_t>(got)});
}

// A process that escaped may hold a pipe open: what is in it is taken, its end is not waited for.
void Across::read_rest(Channel& channel) {
  while (channel.input) {
    if (is_full(screen_)) flush(screen_, around_.interruptions);
    pollfd polled{channel.input.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0) return;
    read_frames(channel);
  }
}

// The starter's own words matter only if no helper could tell what happened.
void Across::read_lines(Fd& pipe) {
  char buffer[65536];
  const auto got = ::read(pipe.get(), buffer, sizeof buffer);
  if (got == 0) pipe.reset();
  if (got <= 0) return;
  error_lines_.feed({buffer, static_cast<std::size_t>(got)}, [this](std::string_view line) {
    explain("{}", printable(line));
    said_by_starter_.emplace_back(line);
    if (said_by_starter_.size() > 20) said_by_starter_.erase(said_by_starter_.begin());
  });
}

void Across::starter_ended(const Ending& ending) {
  gone_ = true;
  for (const auto& channel : channels_) read_rest(*channel);
  const bool all_told = supervisor_.done() && !stopped_from_outside_;
  if (all_told || supervisor_.cause() != Cause::finished) return;
  for (const auto& line : said_by_starter_) note("{}", printable(line));
  // MPI_Abort: the launcher ends all ranks at once, and nobody is left to tell; its code is the one given.
  if (plan_.mpi && !ending.ok() && heard_)
    abort_ = Result{ending.exit_code(), Cause::rank_failed, {}};
  else
    throw Error("{} {} before all ranks had ended{}", name_, ending.sentence(), last_words());
}

std::string Across::last_words() const {
  return said_by_starter_.empty() ? "" : "; it said: " + printable(said_by_starter_.back());
}

Result Across::result() const {
  Result result{supervisor_.exit_code(), supervisor_.cause(), failure_};
  return result;
}

}  // namespace

Result run_across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                  Surroundings& surroundings) {
  const auto on_a_node = uses_engine(plan) ? through_engine(plan, helper) : helper;
  return run_helpers(plan, {start_on_nodes(plan.nodes(), on_a_node)}, screen, surroundings);
}

Result run_helpers(const Plan& plan, const Starter& starter, Screen& screen, Surroundings& surroundings) {
  return Across(plan, starter, screen, surroundings).run();
}

}  // namespace longship::launch
