// SPDX-License-Identifier: Apache-2.0
// The threads that answer for a FUSE mount. One alone waits for requests, because what it has decompressed
// for one request it often needs for the next; others help it, each with caches of its own, only while more
// requests are waiting than it can answer, and are not even started before.
#pragma once
#include <functional>

struct fuse_session;

namespace longship::box {

struct CrewLife {
  // Each thread calls it when it has had nothing to do for a while, and has done something since it did so
  // last.
  std::function<void()> rest;
  // Whether the cores are needed for something better than to wait for requests while awake.
  std::function<bool()> cores_are_needed;
};

// Returns when the file system has been unmounted.
void answer_by_crew(fuse_session* session, const CrewLife& life);

}  // namespace longship::box
