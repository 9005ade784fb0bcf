// SPDX-License-Identifier: Apache-2.0
#include "longship.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "collective/session.h"
#include "control.h"
#include "recording.h"

namespace {

using namespace longship;
using namespace longship::collective;

thread_local std::string last_error;

// The one session of this process. Calls hold a share of it, so that a shutdown in another thread cannot pull
// it away from under them.
std::mutex session_mutex;
std::shared_ptr<Session> the_session;
abi::Recording own_recording;  // until there is one; with the mutex

// Results of all-gathers between their wait and their reading.
std::mutex gathered_mutex;
std::map<Handle, Result> gathered;

// Nothing leaves the library but a code.
template <class Work>
auto guarded(Work work) noexcept -> decltype(work()) {
  using Code = decltype(work());
  try {
    return work();
  } catch (const Error& error) {
    last_error = error.what();
    return static_cast<Code>(error.failure() == Failure::usage ? LONGSHIP_USAGE : LONGSHIP_FAILED);
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "an unknown error";
  }
  return static_cast<Code>(LONGSHIP_FAILED);
}

std::shared_ptr<Session> session_or_null() {
  const std::lock_guard lock(session_mutex);
  return the_session;
}

// Calls work(writer) if something is recorded in this process, and says whether. The writer of a session is
// used without the lock: a thread that waits for a disk must not stop the others.
template <class Work>
bool with_writer(Work work) {
  std::unique_lock lock(session_mutex);
  if (const auto current = the_session) {
    lock.unlock();
    if (current->writer() == nullptr) return false;
    work(*current->writer());
    return true;
  }
  auto* const writer = own_recording.writer();
  if (writer != nullptr) work(*writer);
  return writer != nullptr;
}

std::shared_ptr<Session> session() {
  auto found = session_or_null();
  if (!found) throw Error(Failure::usage, "not initialised: call init() first");
  return found;
}

int number_below(int value, int count, const char* what) {
  if (value < 0 || value >= count) throw Error(Failure::usage, "{}: there is no such {}", value, what);
  return value;
}

Request request(Kind kind, const char* name, void* data, size_t count, int type, int op, int root) {
  if (name == nullptr) throw Error(Failure::usage, "an operation needs a name");
  if (data == nullptr && count > 0) throw Error(Failure::usage, "\"{}\": no data", name);
  Request asked;
  asked.what.kind = kind;
  asked.what.type = static_cast<Type>(number_below(type, type_count, "type"));
  asked.what.op = static_cast<Op>(number_below(op, op_count, "operation"));
  asked.what.root = root;
  asked.what.count = count;
  asked.what.name = name;
  asked.data = static_cast<std::byte*>(data);
  return asked;
}

int code_of(Result result) {
  if (!result.error.empty()) throw Error("{}", result.error);
  return LONGSHIP_OK;
}

Engine::Options options_from_environment() {
  Engine::Options options;
  if (const char* const text = std::getenv("LONGSHIP_PATIENCE")) {
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds < 1e6))
      throw Error(Failure::usage, "LONGSHIP_PATIENCE={}: not a number of seconds", text);
    options.limits.patience = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  return options;
}

Instant instant(int64_t nanoseconds) {
  return Instant(std::chrono::duration_cast<Instant::duration>(Duration(nanoseconds)));
}

}  // namespace

int longship_abi_version(void) {
  return LONGSHIP_ABI_VERSION;
}

const char* longship_last_error(void) {
  return last_error.c_str();
}

int longship_init(void) {
  return guarded([]() -> int {
    const std::lock_guard lock(session_mutex);
    if (the_session) return LONGSHIP_OK;
    const char* const variable = std::getenv("LONGSHIP_RECORD");
    const std::string record = variable == nullptr ? "" : variable;
    own_recording.give_up(record);
    the_session = std::make_shared<Session>(world_from_environment(), record, options_from_environment());
    return LONGSHIP_OK;
  });
}

int longship_shutdown(void) {
  return guarded([]() -> int {
    std::shared_ptr<Session> ending;
    {
      const std::lock_guard lock(session_mutex);
      ending.swap(the_session);
      own_recording.close();
    }
    const std::lock_guard lock(gathered_mutex);
    gathered.clear();
    return LONGSHIP_OK;
  });
}

int longship_initialized(void) {
  return session_or_null() ? 1 : 0;
}

int longship_rank(void) {
  return guarded([] { return session()->rank(); });
}

int longship_size(void) {
  return guarded([] { return session()->size(); });
}

int longship_local_rank(void) {
  return guarded([] { return session()->local_rank(); });
}

int longship_local_size(void) {
  return guarded([] { return session()->local_size(); });
}

int64_t longship_allreduce_begin(const char* name, void* data, size_t count, int type, int op) {
  return guarded(
      [&] { return session()->driver().submit(request(Kind::allreduce, name, data, count, type, op, 0)); });
}

int64_t longship_broadcast_begin(const char* name, void* data, size_t count, int type, int root) {
  return guarded(
      [&] { return session()->driver().submit(request(Kind::broadcast, name, data, count, type, 0, root)); });
}

int64_t longship_allgather_begin(const char* name, const void* data, size_t count, int type) {
  // All-gather only reads; the request's pointer serves the others as well.
  auto* const bytes = const_cast<void*>(data);
  return guarded(
      [&] { return session()->driver().submit(request(Kind::allgather, name, bytes, count, type, 0, 0)); });
}

int64_t longship_barrier_begin(const char* name) {
  return guarded(
      [&] { return session()->driver().submit(request(Kind::barrier, name, nullptr, 0, 0, 0, 0)); });
}

int longship_poll(int64_t handle) {
  return guarded([&] { return session()->driver().finished(handle) ? 1 : 0; });
}

int longship_wait(int64_t handle) {
  return guarded([&]() -> int {
    Result result = session()->driver().wait(handle);
    if (result.error.empty() && !result.counts.empty()) {
      const std::lock_guard lock(gathered_mutex);
      gathered[handle] = std::move(result);
      return LONGSHIP_OK;
    }
    return code_of(std::move(result));
  });
}

int longship_gathered_counts(int64_t handle, uint64_t* counts) {
  return guarded([&]() -> int {
    const std::lock_guard lock(gathered_mutex);
    const auto found = gathered.find(handle);
    if (found == gathered.end())
      throw Error(Failure::usage, "handle {} is not a finished all-gather", handle);
    std::copy(found->second.counts.begin(), found->second.counts.end(), counts);
    return LONGSHIP_OK;
  });
}

int longship_gathered(int64_t handle, void* data, size_t bytes) {
  return guarded([&]() -> int {
    const std::lock_guard lock(gathered_mutex);
    const auto found = gathered.find(handle);
    if (found == gathered.end())
      throw Error(Failure::usage, "handle {} is not a finished all-gather", handle);
    const auto& all = found->second.gathered;
    if (bytes != all.size())
      throw Error(Failure::usage, "{} bytes were gathered, there is room for {}", all.size(), bytes);
    if (bytes > 0) std::memcpy(data, all.data(), bytes);
    gathered.erase(found);
    return LONGSHIP_OK;
  });
}

int longship_allreduce(const char* name, void* data, size_t count, int type, int op) {
  return guarded([&]() -> int {
    return code_of(session()->driver().run(request(Kind::allreduce, name, data, count, type, op, 0)));
  });
}

int longship_broadcast(const char* name, void* data, size_t count, int type, int root) {
  return guarded([&]() -> int {
    return code_of(session()->driver().run(request(Kind::broadcast, name, data, count, type, 0, root)));
  });
}

int longship_barrier(const char* name) {
  return guarded(
      [&] { return code_of(session()->driver().run(request(Kind::barrier, name, nullptr, 0, 0, 0, 0))); });
}

int64_t longship_now(void) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int longship_recording(void) {
  return guarded([] { return with_writer([](record::Writer&) {}) ? 1 : 0; });
}

int longship_span(int activity, const char* name, int64_t begin, int64_t end) {
  return guarded([&]() -> int {
    with_writer([&](record::Writer& writer) {
      const auto kind = static_cast<record::Activity>(number_below(activity, LONGSHIP_OTHER + 1, "activity"));
      writer.span(kind, name == nullptr ? "" : name, instant(begin), instant(end));
    });
    return LONGSHIP_OK;
  });
}

int longship_metrics(uint64_t step, uint64_t steps, const char* const* names, const double* values,
                     size_t count) {
  return guarded([&]() -> int {
    with_writer([&](record::Writer& writer) {
      std::vector<std::pair<std::string_view, double>> pairs;
      for (size_t i = 0; i < count; ++i) pairs.emplace_back(names[i], values[i]);
      writer.metrics(step, steps, pairs);
    });
    return LONGSHIP_OK;
  });
}

uint32_t longship_checkpoint_wanted(void) {
  return abi::checkpoints_wanted();
}
