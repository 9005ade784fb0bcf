// SPDX-License-Identifier: Apache-2.0
#include "turns.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace longship {
namespace {

// As sched_setattr(2) has it; the kernel's own header does not go together with the C library's.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes), policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;  // nanoseconds
};

constexpr int politeness = 5;  // a third of the others' weight

}  // namespace

void take_short_turns() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100'000;  // the least there is
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void give_way() {
  const int now = ::getpriority(PRIO_PROCESS, 0);  // Linux means the thread by 0
  ::setpriority(PRIO_PROCESS, 0, now + politeness);
}

}  // namespace longship
