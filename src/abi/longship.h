/* SPDX-License-Identifier: Apache-2.0 */
/* Longship in a training process: the C functions behind the Python package, for any language with a C
 * interface.
 *
 * One process is one rank. Functions return LONGSHIP_OK (0) or a negative code, and longship_last_error()
 * then says why in a sentence; that text belongs to the calling thread. Nothing here throws, prints, or
 * installs a signal handler. All functions may be called from any thread, between longship_init and
 * longship_shutdown. A process that forks may use the library in the parent only.
 *
 * The numbers of enumerations never change; functions are only added. */
#ifndef LONGSHIP_H
#define LONGSHIP_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LONGSHIP_API __attribute__((visibility("default")))
#define LONGSHIP_ABI_VERSION 1

enum { LONGSHIP_OK = 0, LONGSHIP_FAILED = -1, LONGSHIP_USAGE = -2 };
enum {
  LONGSHIP_U8 = 0,
  LONGSHIP_I8 = 1,
  LONGSHIP_I32 = 2,
  LONGSHIP_I64 = 3,
  LONGSHIP_F16 = 4,
  LONGSHIP_BF16 = 5,
  LONGSHIP_F32 = 6,
  LONGSHIP_F64 = 7,
  LONGSHIP_BOOL = 8 /* a byte, 0 or 1; all-reduce: min and product are "and", max and sum are "or" */
};
enum {
  LONGSHIP_SUM = 0,
  LONGSHIP_AVERAGE = 1,
  LONGSHIP_MIN = 2,
  LONGSHIP_MAX = 3,
  LONGSHIP_PRODUCT = 4,
  LONGSHIP_ADASUM = 5 /* f16, bf16, f32, f64 */
};
enum {
  LONGSHIP_ALLREDUCE = 0,
  LONGSHIP_BROADCAST = 1,
  LONGSHIP_ALLGATHER = 2,
  LONGSHIP_BARRIER = 3,
  LONGSHIP_ALLTOALL = 4,
  LONGSHIP_REDUCESCATTER = 5,
  LONGSHIP_JOIN = 6
};
enum {
  LONGSHIP_COMPUTE = 0,
  LONGSHIP_COMMUNICATION = 1,
  LONGSHIP_WAITING = 2,
  LONGSHIP_INPUT = 3,
  LONGSHIP_CHECKPOINT = 4,
  LONGSHIP_OTHER = 5
};

LONGSHIP_API int longship_abi_version(void);

/* Why the last call of this thread failed; valid until its next one. */
LONGSHIP_API const char* longship_last_error(void);

/* Meets the other ranks, as the environment says (docs/training.md). A process that nobody launched is rank 0
 * of 1. Harmless if done already. */
LONGSHIP_API int longship_init(void);
/* Leaves the others. What was begun and not waited for is given up; what was recorded is written. Harmless if
 * not initialised. */
LONGSHIP_API int longship_shutdown(void);
LONGSHIP_API int longship_initialized(void); /* 1 or 0 */

/* These return the number, or a negative code. */
LONGSHIP_API int longship_rank(void);
LONGSHIP_API int longship_size(void);
LONGSHIP_API int longship_local_rank(void);
LONGSHIP_API int longship_local_size(void);
LONGSHIP_API int longship_cross_rank(void); /* the node's place among the nodes */
LONGSHIP_API int longship_cross_size(void);

/* Process sets: some ranks that do operations among themselves. Made and removed by all ranks of the world
 * alike, also by those outside of it; 0 is the world and stays. */
LONGSHIP_API int longship_process_set_add(const int* ranks,
                                          size_t count); /* its number, or a negative code */
LONGSHIP_API int longship_process_set_remove(int set);
LONGSHIP_API int longship_process_set_size(int set);
LONGSHIP_API int longship_process_set_rank(
    int set); /* this rank's place in it; LONGSHIP_USAGE if it has none */
LONGSHIP_API int longship_process_set_ranks(int set, int* ranks);

/* Before tensors in GPUs' memory are reduced: by all ranks of a set (0: the world), each with its GPU as the
 * calling thread's current device. Needs NCCL 2.10 or later: libnccl.so.2, or the file LONGSHIP_NCCL names.
 */
LONGSHIP_API int longship_nccl_open(int process_set);

/* An operation of all ranks, or of those of a process set. Set all to zero and the scales to 1, then what
 * applies. */
struct longship_operation {
  size_t bytes; /* sizeof(struct longship_operation): fields are only added at the end */
  int kind, type, op;
  int root;                   /* broadcast: a rank of the world, also within a process set */
  int process_set;            /* 0: all ranks */
  uint32_t group_size;        /* with a group: how many operations belong to it */
  const char* name;           /* what ranks match it by */
  const char* group;          /* those of one group are done together, once all are there; NULL: none */
  void* data;                 /* changed in place by all-reduce and broadcast, only read by the others */
  size_t count;               /* elements */
  const uint64_t* splits;     /* all-to-all: elements for each rank of the set; NULL: equal parts */
  size_t row;                 /* reduce-scatter: elements that stay together; 0 is 1 */
  double prescale, postscale; /* all-reduce, reduce-scatter: multiplied before and after */
  /* All-reduce, reduce-scatter of LONGSHIP_F32: LONGSHIP_F16 or LONGSHIP_BF16 is what travels between nodes.
   * Sums are made in 32 bits; what stays in the memory of a node stays as it is. 0: nothing is rounded. */
  int wire;
  /* 1: data and output are in the memory of this rank's GPU, and NCCL does the work in `stream`, a
   * cudaStream_t; after longship_nccl_open. The wait is then over when the work is in the stream: what is put
   * there afterwards comes after it. Without scales, wire, Adasum, or ranks that have joined. */
  int device;
  void* stream;
  /* On a device, of all-gather, reduce-scatter and all-to-all (equal parts): where the result goes, instead
   * of longship_gathered, which is then called for 0 bytes. */
  void* output;
};
/* Begins it: a handle (positive), or a negative code. The struct and what it points to may go, except data.
 */
LONGSHIP_API int64_t longship_begin(const struct longship_operation* operation);
/* Begin and wait in one: quicker, because no other thread has to be woken. Only for kinds that need nothing
 * to be read afterwards: all-reduce, broadcast, barrier. */
LONGSHIP_API int longship_run(const struct longship_operation* operation);

/* The same for the common cases. Begin an operation of all ranks, and give it a handle (positive, or a
 * negative code). Ranks match operations by name; buffers must stay until the wait. Counts are in elements.
 */
LONGSHIP_API int64_t longship_allreduce_begin(const char* name, void* data, size_t count, int type, int op);
LONGSHIP_API int64_t longship_broadcast_begin(const char* name, void* data, size_t count, int type, int root);
LONGSHIP_API int64_t longship_allgather_begin(const char* name, const void* data, size_t count, int type);
LONGSHIP_API int64_t longship_barrier_begin(const char* name);

/* 1 if a wait would return at once, 0 if not. */
LONGSHIP_API int longship_poll(int64_t handle);
/* Until it is done; the handle is used up, except where there is a result to be read. */
LONGSHIP_API int longship_wait(int64_t handle);

/* After the wait for an all-gather or all-to-all: the elements from each rank of the set, then all of them in
 * the order of ranks. For a reduce-scatter: the elements of each rank's part, then those of this rank's. The
 * second call uses the handle up. */
LONGSHIP_API int longship_gathered_counts(int64_t handle, uint64_t* counts);
LONGSHIP_API int longship_gathered(int64_t handle, void* data, size_t bytes);
/* After the wait for a join: the rank that joined last. Uses the handle up. */
LONGSHIP_API int longship_joined(int64_t handle);

/* How many all-reduces and reduce-scatters of this rank had a NaN in their result. Large tensors are looked
 * at in samples. */
LONGSHIP_API int64_t longship_nan_count(void);

/* Begin and wait in one: quicker, because no other thread has to be woken. */
LONGSHIP_API int longship_allreduce(const char* name, void* data, size_t count, int type, int op);
LONGSHIP_API int longship_broadcast(const char* name, void* data, size_t count, int type, int root);
LONGSHIP_API int longship_barrier(const char* name);

/* Memory that the ranks of this node share: what lies in it is reduced in place, without copies. Full of
 * zeros, and from the start of a page on. It stays until it is freed, also after longship_shutdown. NULL, and
 * a text in longship_last_error, if a limit stands against it. */
LONGSHIP_API void* longship_memory_new(size_t bytes);
LONGSHIP_API int longship_memory_free(void* memory); /* not while an operation uses it */

/* What each way to all-reduce is expected to cost here, what was measured, and which one is taken (*), as a
 * table for people; LONGSHIP_LOG=tune tells of each choice on stderr, and shows the table at the end. Rank 0
 * measures and decides. The text belongs to the calling thread until its next call; NULL if there is no
 * session. */
LONGSHIP_API const char* longship_schedules(void);

/* The time as spans take it, in nanoseconds. */
LONGSHIP_API int64_t longship_now(void);
/* For the report: this thread was busy with that, and what the script measured at the end of a step. Without
 * LONGSHIP_RECORD these do nothing, nor after longship_shutdown; they need no longship_init. */
LONGSHIP_API int longship_recording(void); /* 1 or 0 */
LONGSHIP_API int longship_span(int activity, const char* name, int64_t begin, int64_t end);
LONGSHIP_API int longship_metrics(uint64_t step, uint64_t steps, const char* const* names,
                                  const double* values, size_t count);

/* How often the job has been asked to write a checkpoint soon, because its time ends: it has a new answer
 * when the number has grown. 0 outside of a job. Needs no longship_init, and costs one load. */
LONGSHIP_API uint32_t longship_checkpoint_wanted(void);

#ifdef __cplusplus
}
#endif
#endif
