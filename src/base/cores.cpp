// SPDX-License-Identifier: Apache-2.0
#include "cores.h"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace longship {
namespace {

constexpr int most_cores = 8192;  // the kernel's own limit

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, FreeSet>;

Cores all_cores() {
  Cores cores(std::max(1U, std::thread::hardware_concurrency()));
  for (std::size_t i = 0; i < cores.size(); ++i) cores[i] = static_cast<int>(i);
  return cores;
}

}  // namespace

Cores allowed_cores() {
  const Set set(CPU_ALLOC(most_cores));
  const std::size_t bytes = CPU_ALLOC_SIZE(most_cores);
  if (::sched_getaffinity(0, bytes, set.get()) != 0) return all_cores();
  Cores cores;
  for (int core = 0; core < most_cores; ++core)
    if (CPU_ISSET_S(static_cast<unsigned>(core), bytes, set.get())) cores.push_back(core);
  return cores;
}

void bind_to(const Cores& cores) {
  if (cores.empty()) return;
  const Set set(CPU_ALLOC(most_cores));
  const std::size_t bytes = CPU_ALLOC_SIZE(most_cores);
  CPU_ZERO_S(bytes, set.get());
  for (const int core : cores) CPU_SET_S(static_cast<unsigned>(core), bytes, set.get());
  ::sched_setaffinity(0, bytes, set.get());
}

}  // namespace longship
