// SPDX-License-Identifier: Apache-2.0
// What every C function of this library does around its work: errors become codes and a text, and the session
// stays while it is used.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/session.h"
#include "longship.h"

namespace longship::abi {

inline thread_local std::string last_error;

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
    last_error = Error::of(error).what();
  } catch (...) {
    last_error = "an unknown error";
  }
  return static_cast<Code>(LONGSHIP_FAILED);
}

// Calls hold a share of the one session of this process, so that a shutdown in another thread cannot pull it
// away from under them.
[[nodiscard]] std::shared_ptr<collective::Session> session();  // an Error if there is none

[[nodiscard]] inline int number_below(int value, int count, const char* what) {
  if (value < 0 || value >= count) throw Error(Failure::usage, "{}: there is no such {}", value, what);
  return value;
}

// What belonged to a session that is over.
void forget_results();  // those that were waited for and not read
void forget_process_sets();

[[nodiscard]] std::vector<int> ranks_of_set(int set);  // an Error if there is none

}  // namespace longship::abi
