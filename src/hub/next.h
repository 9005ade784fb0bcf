// SPDX-License-Identifier: Apache-2.0
// The hub's state machine, without any I/O: what happens changes the state and asks for actions. The loop
// around it (hub.cpp) makes the changes durable and only then acts, so whatever was replied or sent survives.
//
//   a job       waiting ──▶ assigned ──▶ running ──▶ finished
//                 ▲ │ held     │            │  ├────▶ failed
//                 └─┴──────────┴────────────┘  └────▶ cancelled
//   an attempt  sent ▶ preparing ▶ queued ▶ running ▶ ended, with a Result
//
// Leases. A job has at most one attempt that holds its lease: the newest. Its number is the epoch, and grows.
// - A site is silent when its agent is not connected, or was not heard of for 30 seconds. Silence FREEZES the
//   leases there, until walltime + grace have passed since the start (or since the silence, whichever is
//   later; 7 days if the walltime is not known). A hub that was down or stopped was deaf: that is silence
//   too.
// - While an agent is heard, an attempt that runs and was not heard of for 75 seconds is lost.
// - A lost attempt is stopped at its site, and the job waits for a new one. This happens at most 5 times and
// is
//   not counted as a crash.
//
// Commits. The first attempt that ends `finished` is the job's result, even if its lease was over meanwhile,
// as long as no other was first: newer ones are then stopped. What a person stopped does not count any more.
//
// Trying again. `failed`, as often as the job's retry.crashes says. `timed_out` with a checkpoint: at the
// same site with resume, as often as each attempt gets further than the ones before; without progress, or
// without a checkpoint, it is a crash. `lost`: above. `refused`: elsewhere, or there when its site file has
// changed. A new attempt waits 1, 2, 4 … seconds, at most 5 minutes; after progress not at all.
//
// Agents. Facts are numbered, and the number seen is stored with their effects. What an agent says about an
// attempt that is not at its site, or that there never was, is ignored and noted. After Hello the agent gets
// Want: all that it is to have. A new outbox means that the old spool is lost, and with it what the agent
// does not name.
#pragma once
#include <chrono>

#include "event.h"
#include "state.h"

namespace longship::hub {

inline constexpr std::chrono::seconds silent_after{30};
inline constexpr std::chrono::seconds lease{75};
inline constexpr std::chrono::minutes grace{15};
inline constexpr std::chrono::hours unknown_walltime{7 * 24};
inline constexpr std::chrono::seconds carry_again_after{60};
inline constexpr std::chrono::seconds question_timeout{10};
inline constexpr std::chrono::seconds longest_backoff{300};
inline constexpr std::chrono::seconds deaf_after{15};  // between two ticks: the hub itself was stopped
inline constexpr int most_losses = 5;

[[nodiscard]] Actions next(State& state, const Event& event, Moment now);

}  // namespace longship::hub
