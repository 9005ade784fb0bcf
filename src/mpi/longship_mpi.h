/* SPDX-License-Identifier: Apache-2.0 */
/* A site's own MPI, as Longship uses it: messages between two ranks, nothing else.
 *
 * liblongship.so knows no MPI; each family has a library of its own behind this table (longship_mpi.c,
 * compiled with that family's mpicc), which is loaded when it is asked for. One thread at a time. Functions
 * return 0, or an MPI error code that text() puts into words. */
#ifndef LONGSHIP_MPI_H
#define LONGSHIP_MPI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LONGSHIP_MPI_VERSION 1
#define LONGSHIP_MPI_ANY (-1)

/* A message under way; made by send and receive, freed by the test that finds it done, and by forget. */
struct longship_mpi_request;

/* Where a process is among all. */
struct longship_mpi_place {
  int rank, size;
  int local_rank, local_size; /* among those of its node */
  int node;
};

struct longship_mpi_calls {
  int version;
  const char* library; /* what MPI_Get_library_version says; after start() */
  /* Initialises MPI unless that was done, and finds out where we are. With `threads` it is called by several,
   * one at a time, which an MPI that was initialised by somebody else may not allow. */
  int (*start)(int threads, struct longship_mpi_place* place);
  /* The node of each rank, by all of them together. */
  int (*nodes)(int* nodes);
  /* Ends MPI, if start() began it. */
  int (*stop)(void);
  /* Messages of one open() and those of the next have nothing to do with each other. All ranks call these
   * together. */
  int (*open)(void);
  int (*close)(void);
  int (*send)(int to, int tag, const void* data, size_t bytes, struct longship_mpi_request** request);
  int (*receive)(int from, int tag, void* data, size_t bytes, struct longship_mpi_request** request);
  /* done is 1 or 0; from and bytes are those of a message that was received. */
  int (*test)(struct longship_mpi_request* request, int* done, int* from, size_t* bytes);
  /* Blocks until one of them is done. */
  int (*wait_any)(struct longship_mpi_request* const* requests, int count);
  /* A receive that nobody wants any more. */
  int (*forget)(struct longship_mpi_request* request);
  void (*text)(int code, char* text, size_t bytes);
};

/* The only symbol of the library. */
const struct longship_mpi_calls* longship_mpi(void);

/* No message is longer: counts are int in MPI. */
#define LONGSHIP_MPI_LONGEST ((size_t)1 << 30)

#ifdef __cplusplus
}
#endif
#endif
