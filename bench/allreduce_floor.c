// SPDX-License-Identifier: Apache-2.0
// What an all-reduce on one node could take at best: forked processes, memory that they share from the start, two spinning
// barriers, and nothing else. Each process reduces its part of all tensors and writes it to all of them; what is small is
// summed by each for itself. Prints as allreduce_call does.
//
//   allreduce_floor RANKS BYTES CALLS [BYTES CALLS]…
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { most_ranks = 16, small = 4 * 1024, block = 2048 };
typedef struct {
  _Alignas(64) atomic_ulong arrived[2];
  float slot[2][small / sizeof(float)];
} Rank;

static Rank *ranks_;
static int size_, rank_, crowded_;

static void wait_for_all(int kind, unsigned long turn) {
  atomic_store_explicit(&ranks_[rank_].arrived[kind], turn, memory_order_release);
  for (int other = 0; other < size_; ++other)
    while (atomic_load_explicit(&ranks_[other].arrived[kind], memory_order_acquire) < turn) {
      if (crowded_)
        sched_yield();
      else
        __builtin_ia32_pause();
    }
}

static void add(float *restrict out, const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

static void reduce_part(float *const *tensors, size_t begin, size_t end) {
  if (size_ == 2) {
    float *const a = tensors[0], *const b = tensors[1];
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) a[i] = b[i] = a[i] + b[i];
    return;
  }
  float sum[block];
  for (size_t at = begin; at < end; at += block) {
    const size_t now = end - at < block ? end - at : block;
    add(sum, tensors[0] + at, tensors[1] + at, now);
    for (int rank = 2; rank < size_; ++rank)
#pragma GCC ivdep
      for (size_t i = 0; i < now; ++i) sum[i] += tensors[rank][at + i];
    for (int rank = 0; rank < size_; ++rank) memcpy(tensors[rank] + at, sum, now * sizeof(float));
  }
}

static void allreduce(float *const *tensors, size_t count, unsigned long turn) {
  if (count * sizeof(float) <= small) {
    memcpy(ranks_[rank_].slot[turn % 2], tensors[rank_], count * sizeof(float));
    wait_for_all(0, turn);
    add(tensors[rank_], ranks_[0].slot[turn % 2], ranks_[1].slot[turn % 2], count);
    for (int other = 2; other < size_; ++other)
      for (size_t i = 0; i < count; ++i) tensors[rank_][i] += ranks_[other].slot[turn % 2][i];
    return;
  }
  wait_for_all(0, turn);
  const size_t part = (count + (size_t)size_ - 1) / (size_t)size_, begin = part * (size_t)rank_;
  reduce_part(tensors, begin < count ? begin : count, begin + part < count ? begin + part : count);
  wait_for_all(1, turn);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void *shared(size_t bytes) {
  void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  return memory;
}

static void measure(float *const *tensors, size_t count, int calls, unsigned long *turn) {
  double *const times = malloc(sizeof(double) * (size_t)calls);
  for (int call = -2; call < calls; ++call) {
    for (size_t i = 0; i < count; ++i) tensors[rank_][i] = (float)rank_;
    wait_for_all(0, ++*turn);
    wait_for_all(1, *turn);
    const double begin = now();
    allreduce(tensors, count, ++*turn);
    if (call >= 0) times[call] = now() - begin;
    if (tensors[rank_][count - 1] != (float)(size_ * (size_ - 1) / 2)) exit(1);
    wait_for_all(1, ++*turn);
  }
  qsort(times, (size_t)calls, sizeof(double), ascending);
  if (rank_ == 0) printf("%zu %.9f\n", count * sizeof(float), times[calls / 2]);
  fflush(stdout);
  free(times);
}

int main(int count, char **words) {
  size_ = atoi(words[1]);
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  crowded_ = size_ > CPU_COUNT(&cores);
  ranks_ = shared(sizeof(Rank) * most_ranks);
  float *tensors[64][most_ranks];
  for (int i = 2; i + 1 < count; i += 2)
    for (int rank = 0; rank < size_; ++rank) tensors[i / 2][rank] = shared(strtoul(words[i], NULL, 10));
  for (rank_ = size_ - 1; rank_ > 0; --rank_)
    if (fork() == 0) break;
  if (!crowded_) {
    CPU_ZERO(&cores);
    CPU_SET(rank_, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }
  unsigned long turn = 0;
  for (int i = 2; i + 1 < count; i += 2)
    measure(tensors[i / 2], strtoul(words[i], NULL, 10) / sizeof(float), atoi(words[i + 1]), &turn);
  if (rank_ == 0)
    for (int rank = 1; rank < size_; ++rank) wait(NULL);
  return 0;
}
