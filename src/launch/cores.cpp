// SPDX-License-Identifier: Apache-2.0
#include "cores.h"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace longship::launch {
namespace {

constexpr int most_cores = 8192;  // the kernel's own limit

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, FreeSet>;

Cores all_cores() {
  Cores cores(std::max(1u, std::thread::hardware_concurrency()));
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

std::vector<Cores> divide(const Cores& cores, int ranks, int threads) {
  const auto count = static_cast<int>(cores.size());
  std::vector<Cores> shares(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& share = shares[static_cast<std::size_t>(rank)];
    if (ranks > count) {
      share = {cores[static_cast<std::size_t>(rank % count)]};
      continue;
    }
    const bool enough = threads > 0 && threads * ranks <= count;
    const int begin = enough ? rank * threads : rank * count / ranks;
    const int end = enough ? begin + threads : (rank + 1) * count / ranks;
    share.assign(cores.begin() + begin, cores.begin() + end);
  }
  return shares;
}

int threads_for(const Cores& cores, int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(cores.size()));
}

void bind_to(const Cores& cores) {
  if (cores.empty()) return;
  const Set set(CPU_ALLOC(most_cores));
  const std::size_t bytes = CPU_ALLOC_SIZE(most_cores);
  CPU_ZERO_S(bytes, set.get());
  for (const int core : cores) CPU_SET_S(static_cast<unsigned>(core), bytes, set.get());
  ::sched_setaffinity(0, bytes, set.get());
}

}  // namespace longship::launch
