// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "check.h"
#include "device_group.h"

namespace longship::collective {
namespace {

// Decided but not finished: the next one is known when the current one ends, the rest still gathers into a
// batch.
constexpr std::size_t decided_ahead = 2;

}  // namespace

Engine::Engine(Transport& transport, Options options, record::Writer* writer)
    : transport_(transport),
      options_(std::move(options)),
      writer_(writer),
      post_(transport),
      tuner_(options_.costs, options_.log_tune) {
  let_reduce(false);
  Circle& world = circles_[0];
  world.holds_back = &holds_back_;
  world.ranks.resize(static_cast<std::size_t>(transport_.size()));
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  world.transport = &transport_;
  world.nodes = options_.nodes;
  if (options_.segment != nullptr) world.lane.emplace(options_.segment->lane(Lane::engine));
  if (transport_.rank() == 0) agreement_.emplace(transport_.size(), options_.limits);
}

Handle Engine::submit(Request request, Instant now) {
  check(request, transport_.size());
  const std::lock_guard lock(submissions_mutex_);
  const Handle handle = next_handle_++;
  submissions_.emplace_back(handle, Operation{std::move(request), now, {}});
  return handle;
}

bool Engine::step(Instant now) {
  try {
    return advance(now);
  } catch (const std::exception& error) {
    break_down(error.what());
    return true;
  }
}

bool Engine::rest(Instant now) {
  try {
    if (broken_) return true;
    if (!transport_.arm()) return false;
    return !run(now);  // a schedule in shared memory may have become able to go on just before
  } catch (const std::exception& error) {
    break_down(error.what());
    return false;
  }
}

bool Engine::finished(Handle handle) const {
  if (const auto found = operations_.find(handle); found != operations_.end())
    return found->second.result.has_value();
  const std::lock_guard lock(submissions_mutex_);
  for (const auto& [submitted, operation] : submissions_)
    if (submitted == handle) return false;
  throw Error(Failure::usage, "there is no operation with handle {}", handle);
}

Result Engine::take(Handle handle) {
  const auto found = operations_.find(handle);
  Result result = std::move(*found->second.result);
  operations_.erase(found);
  return result;
}

std::optional<Instant> Engine::deadline() const {
  return agreement_ && !failure_ ? agreement_->deadline() : std::nullopt;
}

void Engine::leave() {
  leaving_ = true;
  if (agreement_ && options_.log_tune && transport_.size() > 1) options_.log_tune(schedules());
  if (broken_ || !undecided_.empty()) return;
  try {
    if (agreement_)
      post_.tell(circles_.at(0).ranks, Decision{{}, {}, "rank 0 has left"});
    else if (!failure_)
      post_.report(Report{{}, true});
    static_cast<void>(transport_.leave());
  } catch (const std::exception& error) {
    break_down(error.what());
  }
}

bool Engine::left() {
  if (broken_ || !undecided_.empty()) return true;
  return !running_ && decisions_.empty() && post_.all_sent() && transport_.leave();
}

bool Engine::advance(Instant now) {
  if (broken_) return take_in_submissions(now);
  bool moved = take_in_submissions(now);
  moved = transport_.progress() || moved;
  moved = post_.hear([&](int from, std::span<const std::byte> bytes) { heard(from, bytes, now); }) || moved;
  moved = decide(now) || moved;
  moved = run(now) || moved;
  return post_.forget_sent() || moved;
}

// ---- Agreement ----

bool Engine::take_in_submissions(Instant now) {
  std::vector<std::pair<Handle, Operation>> submitted;
  {
    const std::lock_guard lock(submissions_mutex_);
    submitted.swap(submissions_);
  }
  if (submitted.empty()) return false;
  awaited_.clear();  // as rank 0 will conclude: who announces does not stand still
  Report report;
  std::size_t length = 0;
  for (auto& [handle, operation] : submitted) {
    const Announcement& what = operation.request.what;
    length += what.name.size() + what.group.size() + sizeof(Announcement) + what.members.size() * sizeof(int);
    take_in(handle, std::move(operation), report);
    if (length < longest_message / 2) continue;
    announce(std::exchange(report, {}), now);
    length = 0;
  }
  announce(std::move(report), now);
  return true;
}

void Engine::take_in(Handle handle, Operation operation, Report& report) {
  const Announcement asked = operation.request.what;
  const std::string problem = why_not(operation.request);
  operations_.emplace(handle, std::move(operation));
  if (!problem.empty()) return complete(handle, {problem, {}, {}});
  if (!undecided_.emplace(Awaited{asked.set, asked.name}, handle).second)
    return complete(handle,
                    {fmt::format("\"{}\" is asked for again before it was done", asked.name), {}, {}});
  report.announcements.push_back(asked);
}

std::string Engine::why_not(const Request& request) const {
  const auto circle = circles_.find(request.what.set);
  if (circle == circles_.end())
    return fmt::format("\"{}\": rank {} does not belong to a process set {}", request.what.name,
                       transport_.rank(), request.what.set);
  if (const std::string problem = why_not_in(circle->second, request); !problem.empty()) return problem;
  if (failure_) return *failure_;
  return leaving_ ? "this rank has shut down" : "";
}

void Engine::announce(Report report, Instant now) {
  if (report.announcements.empty()) return;
  if (agreement_) {
    for (const auto& announcement : report.announcements) agreement_->announce(0, announcement, now);
    return;
  }
  send_values_along(report);
  post_.report(std::move(report));
}

void Engine::send_values_along(Report& report) {
  const Announcement& what = report.announcements.front();
  if (report.announcements.size() > 1 || circles_.at(0).shares_memory() ||
      !Eager::fits(what, transport_.size()))
    return;
  report.values = Eager::values_of(what, operations_.at(undecided_.at({0, what.name})).request.data);
}

// Only of one that all have sent along; what is decided otherwise needs them no more.
void Engine::answer_with_values(Decision& decision) {
  if (eager_.empty() || decision.set != 0) return;
  const bool is_one = decision.error.empty() && decision.names.size() == 1 && decision.details.empty();
  const auto own = is_one ? undecided_.find({0, decision.names.front()}) : undecided_.end();
  if (own != undecided_.end()) {
    const Request& request = operations_.at(own->second).request;
    decision.values =
        eager_.reduced(request.what, Eager::values_of(request.what, request.data), transport_.size());
    if (!decision.values.empty()) decision.bytes = 0;  // there is no way to choose
  }
  for (const auto& name : decision.names) eager_.forget(name);
}

void Engine::stand_still(const std::vector<Handle>& awaited) {
  if (broken_ || failure_ || leaving_ || transport_.size() == 1) return;
  std::vector<Awaited> names;
  for (const Handle handle : awaited) {
    const auto found = operations_.find(handle);
    if (found == operations_.end() || found->second.result) return;  // it goes on any moment
    const Awaited name{found->second.request.what.set, found->second.request.what.name};
    if (!undecided_.contains(name)) return;
    names.push_back(name);
  }
  if (names == awaited_ && (names.empty() || awaited_at_ == answered_)) return;
  awaited_ = std::move(names);
  awaited_at_ = answered_;
  if (agreement_) return agreement_->waits(0, awaited_, answered_);
  try {
    post_.report(Report{{}, false, true, awaited_, answered_});
  } catch (const std::exception& error) {
    break_down(error.what());
  }
}

void Engine::heard(int from, std::span<const std::byte> bytes, Instant now) {
  if (!agreement_) return accept(post_.read_decision(bytes));
  const Report report = post_.read_report(bytes);
  if (!report.values.empty() && report.announcements.size() == 1)
    eager_.keep(from, report.announcements.front().name, report.values);
  for (const auto& announcement : report.announcements) agreement_->announce(from, announcement, now);
  if (report.about_waiting) agreement_->waits(from, report.awaited, report.answered);
  if (report.leaving) agreement_->leave(from);
}

bool Engine::decide(Instant now) {
  if (!agreement_ || leaving_) return false;
  for (const auto& sentence : agreement_->warnings(now))
    if (options_.log) options_.log(sentence);
  bool moved = false;
  for (;;) {
    const bool room = decisions_.size() + (running_ ? 1 : 0) < decided_ahead;
    auto decision = agreement_->next(now, room);
    if (!decision) return moved;
    answer_with_values(*decision);
    choose_way(*decision);
    if (decision->bytes > 0) tuner_.batched(decision->names.size(), decision->bytes);
    const auto concerned = agreement_->concerned(*decision);
    if (transport_.size() > 1) post_.tell(concerned, *decision);
    if (std::binary_search(concerned.begin(), concerned.end(), 0)) accept(std::move(*decision));
    moved = true;
  }
}

// Of sets that rank 0 is not in it knows where their ranks are, and not whether they share memory: those that
// do need no way.
void Engine::choose_way(Decision& decision) {
  if (decision.bytes == 0) {
    decision.way = Way::direct;
    return;
  }
  const auto circle = circles_.find(decision.set);
  if (circle != circles_.end()) {
    decision.way = tuner_.choose(decision.bytes, circle->second.layout());
    return;
  }
  const auto ranks = agreement_->concerned(decision);
  const int nodes = count_nodes(nodes_of(ranks, options_.nodes));
  decision.way = tuner_.choose(decision.bytes, {static_cast<int>(ranks.size()), nodes});
}

// Refusals take effect at once. What is to be done waits for its turn, and so does the end (an error of no
// tensor).
void Engine::accept(Decision decision) {
  if (decision.error.empty() && decision.set == 0) learn(decision);
  if (decision.error.empty() || decision.names.empty())
    decisions_.push_back(std::move(decision));
  else
    for (const auto& name : decision.names) refuse({decision.set, name}, decision.error);
}

void Engine::learn(const Decision& decision) {
  for (std::size_t i = 0; i < decision.names.size(); ++i) {
    if (i < decision.details.size())
      post_.learn(decision.details[i]);
    else if (const auto own = undecided_.find({0, decision.names[i]}); own != undecided_.end())
      post_.learn(what(own->second));
  }
}

void Engine::refuse(const Awaited& name, const std::string& why) {
  const auto found = undecided_.find(name);
  if (found == undecided_.end()) return;
  const Handle handle = found->second;
  undecided_.erase(found);
  complete(handle, {why, {}, {}});
}

void Engine::fail(const std::string& why) {
  if (!failure_) failure_ = why;
  undecided_.clear();
  for (auto& [handle, operation] : operations_)
    if (!operation.result) operation.result = Result{*failure_, {}, {}};
}

void Engine::break_down(const std::string& why) {
  broken_ = true;
  fail(why);
  for (auto& [number, circle] : circles_)
    if (circle.device) circle.device->abort();
}

// ---- Work ----

bool Engine::run(Instant now) {
  bool moved = false;
  for (;;) {
    if (!running_) {
      if (failure_ || decisions_.empty()) return moved;
      start(now);
      moved = true;
      if (failure_) return moved;
    }
    const bool nothing_moved = running_->task->is_left_to_others();
    const bool done = running_->task->step();
    if (nothing_moved && !running_->task->is_left_to_others()) running_->begin = now;
    if (!done) return moved;
    finish(std::chrono::steady_clock::now());
    moved = true;
  }
}

void Engine::start(Instant now) {
  const Decision decision = std::move(decisions_.front());
  decisions_.pop_front();
  if (decision.names.empty()) return fail(decision.error);
  auto running = std::make_unique<Running>();
  running->begin = now;
  std::vector<const Request*> requests;
  for (std::size_t i = 0; i < decision.names.size(); ++i) requests.push_back(member(*running, decision, i));
  running->decision = decision;
  running->is_removal = requests.front()->what.kind == Kind::remove_set;
  running->changed = changed_set(requests.front()->what, decision);
  running_ = std::move(running);
  running_->task.emplace(circles_.at(decision.set), std::move(requests), decision.counts,
                         first_operation_tag + decision.sequence, decision.way, decision.values,
                         running_->changed == 0 ? nullptr : &circles_.at(running_->changed));
}

// The number of the set that is made or removed, if this rank belongs to it; 0 for none.
int Engine::changed_set(const Announcement& change, const Decision& decision) {
  if (change.kind == Kind::remove_set) return circles_.contains(change.root) ? change.root : 0;
  if (change.kind != Kind::add_set ||
      !std::binary_search(change.members.begin(), change.members.end(), transport_.rank()))
    return 0;
  const int number = static_cast<int>(decision.counts.front());
  Circle& made = circles_[number];
  made.ranks = change.members;
  made.subset = std::make_unique<Subset>(transport_, change.members);
  made.transport = made.subset.get();
  made.holds_back = &holds_back_;
  made.nodes = nodes_of(change.members, options_.nodes);
  return number;
}

// What this rank asked for under that name, or what it gives in its place because it has joined.
const Request* Engine::member(Running& running, const Decision& decision, std::size_t index) {
  const auto found = undecided_.find({decision.set, decision.names[index]});
  if (found != undecided_.end()) {
    running.members.push_back(found->second);
    undecided_.erase(found);
    return &operations_.at(running.members.back()).request;
  }
  if (index >= decision.details.size())
    throw Error("\"{}\" was decided, but is not known here", decision.names[index]);
  return &running.ghosts.emplace_back(decision.details[index], circles_.at(decision.set).ranks.size())
              .request;
}

void Engine::finish(Instant now) {
  const auto running = std::move(running_);
  ++answered_;
  const Decision& decision = running->decision;
  if (running->task->is_left_to_others())
    running->begin = now;  // it took this rank no time
  else if (agreement_ && decision.bytes > 0)
    tuner_.measured(decision.way, decision.bytes, circles_.at(decision.set).layout(),
                    std::chrono::duration<double>(now - running->begin).count());
  Result result = running->task->take();
  if (running->is_removal && running->changed != 0) circles_.erase(running->changed);
  if (running->members.empty()) return;
  if (running->task->found_nan()) note_nan(title(*running));
  record(*running, now);
  complete(running->members.front(), std::move(result));
  for (std::size_t i = 1; i < running->members.size(); ++i) complete(running->members[i], {});
}

void Engine::use_device(int set, std::shared_ptr<DeviceGroup> device) {
  const auto circle = circles_.find(set);
  if (circle == circles_.end()) throw Error(Failure::usage, "there is no process set {} any more", set);
  circle->second.device = std::move(device);
}

std::string Engine::title(const Running& running) const {
  const std::string& first = what(running.members.front()).name;
  if (running.members.size() == 1) return first;
  return fmt::format("{} and {} more", first, running.members.size() - 1);
}

void Engine::note_nan(const std::string& name) {
  if (++reductions_with_nan_ == 1 && options_.log)
    options_.log(fmt::format("rank {}: the result of {} holds a NaN; later ones are only counted",
                             transport_.rank(), name));
}

void Engine::record(const Running& running, Instant end) {
  if (writer_ == nullptr) return;
  std::uint64_t bytes = 0;
  Instant arrived{};
  for (const Handle member : running.members) {
    bytes += what(member).bytes();
    arrived = std::max(arrived, operations_.at(member).arrived);
  }
  writer_->collective(running.decision.sequence, title(running), bytes, arrived, running.begin, end);
}

void Engine::complete(Handle handle, Result result) {
  operations_.at(handle).result = std::move(result);
}

}  // namespace longship::collective
