// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace longship::collective {
namespace {

// Tags below are for agreement; each operation has its own above.
constexpr Tag report_tag = 0;
constexpr Tag decision_tag = 1;
constexpr Tag first_operation_tag = 16;

// Decided but not finished: the next one is known when the current one ends, the rest still gathers into a
// batch.
constexpr std::size_t decided_ahead = 2;

void check(const Announcement& what, int size) {
  if (what.name.empty() || what.name.size() > longest_name)
    throw Error(Failure::usage, "the name of a tensor has 1 to {} bytes, not {}", longest_name,
                what.name.size());
  if (what.kind == Kind::broadcast && (what.root < 0 || what.root >= size))
    throw Error(Failure::usage, "broadcast of \"{}\" from rank {}: there are only {}", what.name, what.root,
                size);
}

std::size_t bytes_of(const Request& request) {
  return static_cast<std::size_t>(request.what.bytes());
}

Schedule nothing_to_do() {
  co_return;
}

}  // namespace

Engine::Engine(Transport& transport, Segment* segment, Options options, record::Writer* writer)
    : transport_(transport), segment_(segment), options_(options), writer_(writer) {
  if (transport_.rank() == 0) {
    coordinator_.emplace(transport_.size(), options_.limits);
    for (int peer = 1; peer < transport_.size(); ++peer) incoming_.emplace_back().from = peer;
  } else {
    incoming_.emplace_back();  // from rank 0
  }
  for (auto& incoming : incoming_) listen(incoming);
}

Handle Engine::submit(Request request, Instant now) {
  check(request.what, transport_.size());
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
  return coordinator_ && !failure_ ? coordinator_->deadline() : std::nullopt;
}

void Engine::leave() {
  leaving_ = true;
  if (broken_ || !undecided_.empty()) return;
  try {
    if (coordinator_)
      send(1, transport_.size(), decision_tag, encoded(Decision{{}, {}, "rank 0 has left"}));
    else if (!failure_)
      send(0, 1, report_tag, encoded(Report{{}, true}));
    static_cast<void>(transport_.leave());
  } catch (const std::exception& error) {
    break_down(error.what());
  }
}

bool Engine::left() {
  if (broken_ || !undecided_.empty()) return true;
  return !running_ && decisions_.empty() && outgoing_.empty() && transport_.leave();
}

bool Engine::advance(Instant now) {
  if (broken_) return take_in_submissions(now);
  bool moved = take_in_submissions(now);
  moved = transport_.progress() || moved;
  moved = hear(now) || moved;
  moved = decide(now) || moved;
  moved = run(now) || moved;
  return forget_sent() || moved;
}

// ---- Agreement ----

bool Engine::take_in_submissions(Instant now) {
  std::vector<std::pair<Handle, Operation>> submitted;
  {
    const std::lock_guard lock(submissions_mutex_);
    submitted.swap(submissions_);
  }
  if (submitted.empty()) return false;
  Report report;
  std::size_t length = 0;
  for (auto& [handle, operation] : submitted) {
    length += operation.request.what.name.size() + sizeof(Announcement);
    take_in(handle, std::move(operation), report);
    if (length < longest_message / 2) continue;
    announce(report, now);
    report = {};
    length = 0;
  }
  announce(report, now);
  return true;
}

void Engine::take_in(Handle handle, Operation operation, Report& report) {
  const Announcement what = operation.request.what;
  operations_.emplace(handle, std::move(operation));
  if (failure_) {
    complete(handle, {*failure_, {}, {}});
  } else if (leaving_) {
    complete(handle, {"this rank has shut down", {}, {}});
  } else if (!undecided_.emplace(what.name, handle).second) {
    complete(handle, {fmt::format("\"{}\" is asked for again before it was done", what.name), {}, {}});
  } else {
    report.announcements.push_back(what);
  }
}

void Engine::announce(const Report& report, Instant now) {
  if (report.announcements.empty()) return;
  if (coordinator_) {
    for (const auto& announcement : report.announcements) coordinator_->announce(0, announcement, now);
  } else {
    send(0, 1, report_tag, encoded(report));
  }
}

// To the ranks from first to before last.
void Engine::send(int first, int last, Tag tag, std::vector<std::byte> bytes) {
  auto& message = outgoing_.emplace_back();
  message.bytes = std::move(bytes);
  for (int rank = first; rank < last; ++rank)
    transport_.send(rank, tag, message.bytes, message.completions.emplace_back());
}

bool Engine::forget_sent() {
  const auto is_sent = [](const Outgoing& message) {
    return std::all_of(message.completions.begin(), message.completions.end(),
                       [](const auto& one) { return one.done; });
  };
  bool moved = false;
  for (; !outgoing_.empty() && is_sent(outgoing_.front()); moved = true) outgoing_.pop_front();
  return moved;
}

void Engine::listen(Incoming& incoming) {
  const std::size_t about_ranks =
      coordinator_ ? 0 : static_cast<std::size_t>(transport_.size()) * decided_per_rank;
  incoming.buffer.resize(longest_message + about_ranks);
  incoming.completion = {};
  transport_.receive(incoming.from, coordinator_ ? report_tag : decision_tag, incoming.buffer,
                     incoming.completion);
}

bool Engine::hear(Instant now) {
  bool moved = false;
  for (auto& incoming : incoming_) {
    while (incoming.completion.done) {
      heard(incoming.from, std::span(incoming.buffer).first(incoming.completion.bytes), now);
      listen(incoming);
      moved = true;
    }
  }
  return moved;
}

void Engine::heard(int from, std::span<const std::byte> bytes, Instant now) {
  if (!coordinator_) {
    accept(decoded_decision(bytes));
    return;
  }
  const Report report = decoded_report(bytes);
  for (const auto& announcement : report.announcements) coordinator_->announce(from, announcement, now);
  if (report.leaving) coordinator_->leave(from);
}

bool Engine::decide(Instant now) {
  if (!coordinator_ || leaving_) return false;
  bool moved = false;
  while (decisions_.size() + (running_ ? 1 : 0) < decided_ahead) {
    auto decision = coordinator_->next(now);
    if (!decision) break;
    if (!alone()) send(1, transport_.size(), decision_tag, encoded(*decision));
    accept(std::move(*decision));
    moved = true;
  }
  return moved;
}

// Refusals take effect at once. What is to be done waits for its turn, and so does the end (an error of no
// tensor).
void Engine::accept(Decision decision) {
  if (decision.error.empty() || decision.names.empty())
    decisions_.push_back(std::move(decision));
  else if (std::find(decision.to.begin(), decision.to.end(), transport_.rank()) != decision.to.end())
    for (const auto& name : decision.names) refuse(name, decision.error);
}

void Engine::refuse(const std::string& name, const std::string& why) {
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
    if (!running_->schedule.step()) return moved;
    finish(std::chrono::steady_clock::now());
    moved = true;
  }
}

void Engine::start(Instant now) {
  const Decision decision = std::move(decisions_.front());
  decisions_.pop_front();
  if (decision.names.empty()) return fail(decision.error);
  Running running;
  running.counts = decision.counts;
  running.begin = now;
  for (const auto& name : decision.names) {
    const auto found = undecided_.find(name);
    if (found == undecided_.end()) throw Error("\"{}\" was decided, but is not known here", name);
    running.members.push_back(found->second);
    undecided_.erase(found);
  }
  running_ = std::move(running);
  running_->schedule = schedule_for(*running_);
}

Schedule Engine::schedule_for(Running& running) {
  const Request& request = operations_.at(running.members.front()).request;
  const Tag tag = first_operation_tag + sequence_;
  switch (request.what.kind) {
    case Kind::allreduce:
      return allreduce(running);
    case Kind::allgather:
      return allgather(running);
    case Kind::broadcast:
      return tree_broadcast(transport_, tag, {request.data, bytes_of(request)}, request.what.root);
    case Kind::barrier:
      break;  // to have agreed is to have met
  }
  return nothing_to_do();
}

Schedule Engine::allreduce(Running& running) {
  if (alone()) return nothing_to_do();
  Pieces pieces;
  for (const Handle member : running.members) {
    const Request& request = operations_.at(member).request;
    pieces.push_back({request.what.type, request.data, static_cast<std::size_t>(request.what.count)});
  }
  const Op op = operations_.at(running.members.front()).request.what.op;
  if (segment_ != nullptr) return direct_allreduce(*segment_, std::move(pieces), op);

  Values values = pieces.front();
  if (pieces.size() > 1) {
    for (const auto& piece : pieces)
      running.packed.insert(running.packed.end(), piece.data, piece.data + piece.count * size_of(piece.type));
    values = {values.type, running.packed.data(), running.packed.size() / size_of(values.type)};
  }
  const Tag tag = first_operation_tag + sequence_;
  if (values.count * size_of(values.type) >= options_.ring_from)
    return ring_allreduce(transport_, tag, values, op);
  return halving_doubling_allreduce(transport_, tag, values, op);
}

Schedule Engine::allgather(Running& running) {
  const Request& request = operations_.at(running.members.front()).request;
  std::vector<std::size_t> sizes;
  for (const auto count : running.counts)
    sizes.push_back(static_cast<std::size_t>(count) * size_of(request.what.type));
  running.gathered.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  const Tag tag = first_operation_tag + sequence_;
  return ring_allgather(transport_, tag, {request.data, bytes_of(request)}, running.gathered,
                        std::move(sizes));
}

void Engine::unpack(Running& running) {
  const std::byte* from = running.packed.data();
  for (const Handle member : running.members) {
    const Request& request = operations_.at(member).request;
    std::copy_n(from, bytes_of(request), request.data);
    from += bytes_of(request);
  }
}

void Engine::finish(Instant now) {
  Running running = std::move(*running_);
  running_.reset();
  if (!running.packed.empty()) unpack(running);
  record(running, now);
  ++sequence_;
  for (const Handle member : running.members)
    complete(member, {{}, std::move(running.counts), std::move(running.gathered)});
}

void Engine::record(const Running& running, Instant end) {
  if (writer_ == nullptr) return;
  std::uint64_t bytes = 0;
  Instant arrived{};
  for (const Handle member : running.members) {
    const Operation& operation = operations_.at(member);
    bytes += operation.request.what.bytes();
    arrived = std::max(arrived, operation.arrived);
  }
  const auto& first = operations_.at(running.members.front()).request.what.name;
  const std::string name =
      running.members.size() == 1 ? first : fmt::format("{} and {} more", first, running.members.size() - 1);
  writer_->collective(sequence_, name, bytes, arrived, running.begin, end);
}

void Engine::complete(Handle handle, Result result) {
  operations_.at(handle).result = std::move(result);
}

}  // namespace longship::collective
