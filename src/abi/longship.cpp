// SPDX-License-Identifier: Apache-2.0
#include "longship.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "call.h"
#include "control.h"
#include "recording.h"

namespace {

using namespace longship;
using namespace longship::abi;
using namespace longship::collective;

// The one session of this process.
std::mutex session_mutex;
std::shared_ptr<Session> the_session;
abi::Recording own_recording;  // until there is one; with the mutex

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

// To stderr: stdout belongs to the script.
void say(const std::string& line) {
  const std::string text = "longship: " + line + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Whether a list of words, separated by commas, has this one.
bool asks_for(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::optional<Duration> seconds_in(const char* variable, double least) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return {};
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds >= least && seconds < 1e6))
    throw Error(Failure::usage, "{}={}: not a number of seconds", variable, text);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Engine::Options options_from_environment() {
  Engine::Options options;
  if (const auto patience = seconds_in("LONGSHIP_PATIENCE", 1e-6)) options.limits.patience = *patience;
  for (const char* const name : {"HOROVOD_STALL_CHECK_TIME_SECONDS", "LONGSHIP_STALL_WARNING"})
    if (const auto warning = seconds_in(name, 0)) options.limits.warning = *warning;
  options.log = say;
  if (const char* const wanted = std::getenv("LONGSHIP_LOG"); wanted != nullptr && asks_for(wanted, "tune"))
    options.log_tune = say;
  return options;
}

Instant instant(int64_t nanoseconds) {
  return Instant(std::chrono::duration_cast<Instant::duration>(Duration(nanoseconds)));
}

}  // namespace

std::shared_ptr<Session> abi::session() {
  auto found = session_or_null();
  if (!found) throw Error(Failure::usage, "not initialised: call init() first");
  return found;
}

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
    abi::forget_results();
    abi::forget_process_sets();
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

int longship_cross_rank(void) {
  return guarded([] { return session()->node(); });
}

int longship_cross_size(void) {
  return guarded([] { return session()->node_count(); });
}

int64_t longship_nan_count(void) {
  return guarded([] { return static_cast<int64_t>(session()->driver().reductions_with_nan()); });
}

const char* longship_schedules(void) {
  thread_local std::string table;
  const int code = guarded([]() -> int {
    table = session()->driver().schedules();
    return LONGSHIP_OK;
  });
  return code == LONGSHIP_OK ? table.c_str() : nullptr;
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
