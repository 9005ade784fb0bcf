// SPDX-License-Identifier: Apache-2.0
// One rank that times all-reduces of fp32 in place: fill, barrier, timed call, barrier. Compiled once for each library, so that
// all are measured by the same lines: -DUSE_MPI, or against longship.h; LONGSHIP_BENCH_MEMORY=private takes the
// tensors from malloc instead of from longship_memory_new.
//
//   allreduce_call BYTES CALLS [BYTES CALLS]…     prints "BYTES SECONDS", the median, at rank 0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void need(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "allreduce_call: %s\n", what);
  exit(1);
}

#ifdef USE_MPI
#include <mpi.h>
static void start(int *count, char ***words) { MPI_Init(count, words); }
static void stop(void) { MPI_Finalize(); }
static int own_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
static int all_ranks(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void allreduce(float *data, size_t count) {
  MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static float *new_tensor(size_t bytes) { return malloc(bytes); }
static void free_tensor(float *tensor) { free(tensor); }
#else
#include "longship.h"
static int is_private(void) {
  const char *const where = getenv("LONGSHIP_BENCH_MEMORY");
  return where != NULL && strcmp(where, "private") == 0;
}
static void start(int *count, char ***words) {
  (void)count, (void)words;
  need(longship_init() == LONGSHIP_OK, longship_last_error());
}
static void stop(void) { longship_shutdown(); }
static int own_rank(void) { return longship_rank(); }
static int all_ranks(void) { return longship_size(); }
static void barrier(void) { need(longship_barrier("b") == LONGSHIP_OK, longship_last_error()); }
static void allreduce(float *data, size_t count) {
  need(longship_allreduce("t", data, count, LONGSHIP_F32, LONGSHIP_SUM) == LONGSHIP_OK, longship_last_error());
}
static float *new_tensor(size_t bytes) { return is_private() ? malloc(bytes) : longship_memory_new(bytes); }
static void free_tensor(float *tensor) { is_private() ? free(tensor) : (void)longship_memory_free(tensor); }
#endif

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(size_t bytes, int calls) {
  const size_t count = bytes / sizeof(float);
  const int ranks = all_ranks(), rank = own_rank();
  float *const data = new_tensor(bytes);
  double *const times = malloc(sizeof(double) * (size_t)calls);
  need(data != NULL && times != NULL, "no memory");
  for (int call = -2; call < calls; ++call) {
    for (size_t i = 0; i < count; ++i) data[i] = (float)rank;
    barrier();
    const double begin = now();
    allreduce(data, count);
    if (call >= 0) times[call] = now() - begin;
    barrier();  // nobody fills again while another one, that shares its core, is still being timed
    need(data[0] == data[count - 1] && data[0] == (float)(ranks * (ranks - 1) / 2), "a wrong sum");
  }
  qsort(times, (size_t)calls, sizeof(double), ascending);
  const double middle = times[calls / 2];
  free_tensor(data);
  free(times);
  return middle;
}

int main(int count, char **words) {
  start(&count, &words);
  for (int i = 1; i + 1 < count; i += 2) {
    const size_t bytes = strtoul(words[i], NULL, 10);
    const double seconds = median(bytes, atoi(words[i + 1]));
    if (own_rank() == 0) printf("%zu %.9f\n", bytes, seconds);
  }
  stop();
  return 0;
}
