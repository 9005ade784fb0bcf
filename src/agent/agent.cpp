// SPDX-License-Identifier: Apache-2.0
#include "agent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/say.h"
#include "bringer.h"
#include "desk.h"
#include "link.h"
#include "questions.h"
#include "spool_lock.h"
#include "worker.h"

namespace longship::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

Instant now() {
  return std::chrono::steady_clock::now();
}

// Things to be done every so often.
class Due {
 public:
  explicit Due(Duration every) : every_(every) {}
  [[nodiscard]] bool now(Instant at) {
    if (at < next_) return false;
    next_ = at + every_;
    return true;
  }
  void soon(Instant at) { next_ = std::min(next_, at); }
  [[nodiscard]] Instant next() const { return next_; }

 private:
  Duration every_;
  Instant next_{};
};

// The job's checkpoints go with its last attempt.
void discard_attempts(const message::Spool& spool, const std::vector<message::AttemptId>& attempts) {
  std::set<std::string> jobs;
  for (const auto& attempt : attempts) {
    if (!remove_tree(spool.attempt(attempt))) warn("not all of {} could be removed", attempt.text());
    jobs.insert(attempt.job);
  }
  std::error_code error;
  for (fs::directory_iterator at(spool.attempts(), error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    jobs.erase(name.substr(0, name.rfind('.')));
  }
  if (error) return;
  for (const auto& job : jobs) remove_tree(spool.checkpoints(job));
}

}  // namespace

struct Agent::Parts {
  explicit Parts(Options given);
  void run(const std::stop_token& stop);

  // One round of the loop.
  void work(Instant at);
  void hear_pilots(Instant at);
  void hear_hub();
  void take(const message::FromHub& message);
  void ask_batch(Instant at);
  void step(Instant at);
  void act(const Actions& actions);
  void submit(const Made& made);
  void talk(Instant at);
  void wait(Instant at, int stop);
  void recover(const std::string& why, Instant at);
  void open_desk();

  Options options;
  message::Spool spool;
  Fd lock;
  Pace pace;
  std::string site_file;
  Mailbox mailbox;
  std::unique_ptr<batch::BatchSystem> batch;
  std::unique_ptr<Bringer> bringer;
  std::unique_ptr<Desk> desk;  // none: could not be written; it is made anew after a pause
  Instant desk_again{};
  Duration desk_pause{};
  std::string desk_trouble;
  std::vector<Input> inputs;
  Due logs_due, batch_due, tick_due{milliseconds(200)}, alive_due{seconds(10)};
  Instant alive_sent{};
  int quick = 0;        // looks at the logs that follow each other quickly, because there was something
  bool asking = false;  // the batch system
  std::optional<Link> link;
  // Last, so that they end first.
  Worker batch_worker, byte_worker, question_worker;
};

Agent::Agent(Options options) : parts_(std::make_unique<Parts>(std::move(options))) {}
Agent::~Agent() = default;
void Agent::run(std::stop_token stop) {
  parts_->run(std::move(stop));
}

Agent::Parts::Parts(Options given)
    : options(std::move(given)),
      spool(options.site.spool),
      pace(pace_of(options.site)),
      site_file(site::to_toml(options.site)),
      logs_due(pace.logs),
      batch_due(pace.batch) {
  spool.make();
  lock = lock_spool(spool.lock());
  batch = batch::open(options.site);
  open_desk();
  link.emplace(options.connect, mailbox, options.ends_with_link);
}

// Everything in memory goes, and comes back from disk.
void Agent::Parts::open_desk() {
  desk.reset();
  inputs.clear();
  bringer = std::make_unique<Bringer>(
      spool, options.site.store,
      Bringer::World{[this](const message::Fetch& fetch) { link->send(fetch); },
                     [this](Input input) { inputs.push_back(std::move(input)); }, byte_worker, mailbox});
  desk = std::make_unique<Desk>(options.site, spool,
                                [this](const WantedBlob& blob) { return bringer->has(blob); });
}

void Agent::Parts::run(const std::stop_token& stop) {
  const Fd stopped(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped) throw Error::from_errno(errno, "cannot make an eventfd");
  const std::stop_callback wake(stop, [&] {
    const std::uint64_t one = 1;
    static_cast<void>(::write(stopped.get(), &one, sizeof one) == 0);
  });
  while (!stop.stop_requested() && !link->over()) {
    const auto at = now();
    try {
      for (const auto& work : mailbox.take()) work();
      if (!desk && at >= desk_again) open_desk();
      if (desk) work(at);
    } catch (const std::exception& error) {
      recover(Error::of(error).what(), at);
    }
    wait(at, stopped.get());
  }
  link->close();
  if (options.ends_with_link && !desk_trouble.empty()) throw Error("{}", desk_trouble);
  if (!link->sent_away().empty()) throw Error("the hub does not talk to this agent: {}", link->sent_away());
}

// What could not be written was not done either. The hub hears why, for those who ask, and then sees a lost
// connection, which freezes its leases.
void Agent::Parts::recover(const std::string& why, Instant at) {
  if (why != desk_trouble)
    warn("site {}: {}; what is on disk is read again until this is mended", options.site.name, why);
  desk_trouble = why;
  desk.reset();
  if (link->up()) {
    message::Alive last;
    last.condition = why;
    link->send(last);
  }
  link->drop();
  bringer->link_down();
  desk_pause = std::clamp<Duration>(desk_pause * 2, milliseconds(100), seconds(30));
  desk_again = at + desk_pause;
}

void Agent::Parts::work(Instant at) {
  link->keep(at, [this] {
    message::Hello hello;
    hello.version = options.version;
    hello.site = options.site.name;
    hello.site_file = site_file;
    hello.outbox = desk->outbox.name();
    hello.attempts = desk->engine.attempts();
    return hello;
  });
  if (!link->up()) bringer->link_down();
  hear_hub();
  hear_pilots(at);
  ask_batch(at);
  bringer->tick(at);
  if (!inputs.empty() || tick_due.now(at)) step(at);
  talk(at);
}

void Agent::Parts::hear_pilots(Instant at) {
  if (!logs_due.now(at)) return;
  bool news = false;
  for (const auto& pilot : desk->engine.pilots())
    for (auto& message : desk->logs.hear(pilot)) {
      inputs.push_back(PilotSaid{pilot, std::move(message)});
      news = true;
    }
  // On a file system of our own it costs nothing to look again at once when much is going on.
  quick = news && pace.logs < seconds(1) ? 10 : std::max(0, quick - 1);
  if (quick > 0) logs_due.soon(at + milliseconds(3));
}

void Agent::Parts::hear_hub() {
  for (int frames = 0; frames < 100; ++frames) {
    const auto message = link->receive();
    if (!message) return;
    take(*message);
  }
}

void Agent::Parts::take(const message::FromHub& message) {
  if (const auto* welcome = std::get_if<message::Welcome>(&message)) {
    desk->outbox.send_from(welcome->seen);
    inputs.push_back(NewLink{});
    inputs.push_back(message::Seen{welcome->seen});
    link->welcomed();
    bringer->link_up();
    alive_due.soon(now());
  } else if (const auto* chunk = std::get_if<message::Chunk>(&message)) {
    bringer->take(*chunk, now());
  } else if (const auto* question = std::get_if<message::Question>(&message)) {
    question_worker.post([this, question = *question, connection = link->connection()] {
      auto reply = answer(spool, question);
      mailbox.post([this, reply = std::move(reply), connection] {
        if (link->connection() == connection) link->send(reply);
      });
    });
  } else if (const auto* goodbye = std::get_if<message::Goodbye>(&message)) {
    link->goodbye(goodbye->reason);
  } else {
    std::visit(
        [this](const auto& one) {
          if constexpr (std::is_constructible_v<Input, decltype(one)>) inputs.push_back(one);
        },
        message);
  }
}

void Agent::Parts::ask_batch(Instant at) {
  const auto names = desk->engine.pilots();
  if (asking || names.empty() || !batch_due.now(at)) return;
  asking = true;
  batch_worker.post([this, names] {
    Input input;
    try {
      BatchSaid said{batch->report(names), {}};
      const PilotLogs logs(spool);
      for (const auto& [name, report] : said.reports)
        if (report.state == batch::State::ended) said.last_words[name] = logs.last_words(name);
      input = std::move(said);
    } catch (const std::exception& error) {
      input = BatchSilent{Error::of(error).what()};
    }
    mailbox.post([this, input = std::move(input)] {
      asking = false;
      inputs.push_back(input);
    });
  });
}

void Agent::Parts::step(Instant at) {
  const auto actions = desk->engine.step(at, inputs);
  inputs.clear();
  desk->write(actions);
  act(actions);
  if (!desk_trouble.empty()) note("site {}: it can be written again", options.site.name);
  desk_trouble.clear();
  desk_pause = {};
}

// What follows from what is written.
void Agent::Parts::act(const Actions& actions) {
  for (const auto& sentence : actions.warnings) warn("site {}: {}", options.site.name, sentence);
  for (const auto& made : actions.submit) submit(made);
  for (const auto& pilot : actions.cancel) batch_worker.post([this, pilot] { batch->cancel(pilot); });
  for (const auto& blob : actions.fetch) bringer->want(blob);
  if (!actions.discard.empty())
    byte_worker.post([this, attempts = actions.discard] { discard_attempts(spool, attempts); });
  for (const auto& pilot : actions.remove) {
    desk->logs.forget(pilot);
    byte_worker.post([this, pilot] { remove_tree(spool.pilot(pilot)); });
  }
}

void Agent::Parts::submit(const Made& made) {
  batch_worker.post([this, made] {
    Input input;
    try {
      const auto id = batch->submit(request_of(options.site, made, options.program, spool.pilot(made.pilot)));
      failpoint("agent.submitted");
      input = SubmitDone{made.pilot, id};
    } catch (const std::exception& error) {
      input = SubmitFailed{made.pilot, Error::of(error).what()};
    }
    mailbox.post([this, input = std::move(input)] {
      inputs.push_back(input);
      batch_due.soon(now());
    });
  });
}

void Agent::Parts::talk(Instant at) {
  if (!link->up()) return;
  for (int batches = 0; batches < 50; ++batches) {
    const auto facts = desk->outbox.next(500, std::size_t{1} << 20);
    if (facts.facts.empty()) break;
    link->send(message::encode(facts));
  }
  if (desk->engine.has_news()) alive_due.soon(alive_sent + seconds(1));
  if (!alive_due.now(at)) return;
  alive_sent = at;
  auto alive = desk->engine.alive();
  if (alive.condition.empty()) alive.condition = bringer->trouble();
  link->send(alive);
}

void Agent::Parts::wait(Instant at, int stop) {
  auto until = std::min({at + milliseconds(200), logs_due.next(), tick_due.next()});
  if (!desk) until = std::min(at + seconds(1), desk_again);
  if (!inputs.empty()) until = at;
  const auto left = std::chrono::ceil<milliseconds>(until - now()).count();
  pollfd fds[] = {{stop, POLLIN, 0}, {mailbox.fd(), POLLIN, 0}, {desk ? link->fd() : -1, POLLIN, 0}};
  static_cast<void>(::poll(fds, 3, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000))));
}

}  // namespace longship::agent
