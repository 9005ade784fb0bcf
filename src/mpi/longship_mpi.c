/* SPDX-License-Identifier: Apache-2.0 */
#include "longship_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct longship_mpi_request {
  MPI_Request request;
  MPI_Status status;
  int done;
};

static MPI_Comm all = MPI_COMM_NULL;     /* of our own, from start to stop */
static MPI_Comm current = MPI_COMM_NULL; /* from open to close */
static int ours; /* MPI was begun by us, and so we end it */
static int own_node;
static char library[MPI_MAX_LIBRARY_VERSION_STRING];

#define CHECKED(call)                    \
  do {                                   \
    const int code = (call);             \
    if (code != MPI_SUCCESS) return code; \
  } while (0)

/* Nodes are counted by their first ranks. */
static int find_node(struct longship_mpi_place* place) {
  MPI_Comm node, first;
  CHECKED(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node));
  CHECKED(MPI_Comm_rank(node, &place->local_rank));
  CHECKED(MPI_Comm_size(node, &place->local_size));
  CHECKED(MPI_Comm_split(all, place->local_rank == 0 ? 0 : MPI_UNDEFINED, place->rank, &first));
  if (first != MPI_COMM_NULL) {
    CHECKED(MPI_Comm_rank(first, &place->node));
    CHECKED(MPI_Comm_free(&first));
  }
  CHECKED(MPI_Bcast(&place->node, 1, MPI_INT, 0, node));
  own_node = place->node;
  return MPI_Comm_free(&node);
}

static int nodes(int* of_ranks) {
  return MPI_Allgather(&own_node, 1, MPI_INT, of_ranks, 1, MPI_INT, all);
}

static int start(int threads, struct longship_mpi_place* place) {
  const int wanted = threads ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE;
  int begun, given = MPI_THREAD_SINGLE, length;
  CHECKED(MPI_Initialized(&begun));
  if (begun)
    CHECKED(MPI_Query_thread(&given));
  else
    CHECKED(MPI_Init_thread(NULL, NULL, wanted, &given));
  ours = !begun;
  if (given < wanted) return MPI_ERR_OTHER;
  CHECKED(MPI_Comm_dup(MPI_COMM_WORLD, &all));
  CHECKED(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN));
  CHECKED(MPI_Comm_rank(all, &place->rank));
  CHECKED(MPI_Comm_size(all, &place->size));
  CHECKED(find_node(place));
  return MPI_Get_library_version(library, &length);
}

static int stop(void) {
  if (all != MPI_COMM_NULL) CHECKED(MPI_Comm_free(&all));
  return ours ? MPI_Finalize() : MPI_SUCCESS;
}

static int open_messages(void) {
  CHECKED(MPI_Comm_dup(all, &current));
  return MPI_Comm_set_errhandler(current, MPI_ERRORS_RETURN);
}

/* Not freed: MPICH would give its number to the next one, and with it what nobody has read. There is room for about two thousand. */
static int close_messages(void) {
  current = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

static int begun(int code, struct longship_mpi_request* made, struct longship_mpi_request** request) {
  if (code == MPI_SUCCESS)
    *request = made;
  else
    free(made);
  return code;
}

static int send(int to, int tag, const void* data, size_t bytes, struct longship_mpi_request** request) {
  struct longship_mpi_request* const made = calloc(1, sizeof *made);
  if (made == NULL) return MPI_ERR_NO_MEM;
  return begun(MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, current, &made->request), made, request);
}

static int receive(int from, int tag, void* data, size_t bytes, struct longship_mpi_request** request) {
  struct longship_mpi_request* const made = calloc(1, sizeof *made);
  if (made == NULL) return MPI_ERR_NO_MEM;
  const int source = from == LONGSHIP_MPI_ANY ? MPI_ANY_SOURCE : from;
  return begun(MPI_Irecv(data, (int)bytes, MPI_BYTE, source, tag, current, &made->request), made, request);
}

static int test(struct longship_mpi_request* request, int* done, int* from, size_t* bytes) {
  if (!request->done) CHECKED(MPI_Test(&request->request, &request->done, &request->status));
  *done = request->done;
  if (!*done) return MPI_SUCCESS;
  int count = 0;
  CHECKED(MPI_Get_count(&request->status, MPI_BYTE, &count));
  *from = request->status.MPI_SOURCE;
  *bytes = (size_t)count;
  free(request);
  return MPI_SUCCESS;
}

static int wait_any(struct longship_mpi_request* const* requests, int count) {
  MPI_Request* const waiting = malloc(sizeof(MPI_Request) * (size_t)count);
  if (waiting == NULL) return MPI_ERR_NO_MEM;
  int finished = -1;
  for (int i = 0; i < count; ++i) {
    waiting[i] = requests[i]->request;
    if (requests[i]->done) finished = i;
  }
  int code = MPI_SUCCESS;
  if (finished < 0) {
    MPI_Status status;
    code = MPI_Waitany(count, waiting, &finished, &status);
    if (code == MPI_SUCCESS && finished != MPI_UNDEFINED) {
      requests[finished]->request = waiting[finished];
      requests[finished]->status = status;
      requests[finished]->done = 1;
    }
  }
  free(waiting);
  return code;
}

static int forget(struct longship_mpi_request* request) {
  if (!request->done) {
    CHECKED(MPI_Cancel(&request->request));
    CHECKED(MPI_Wait(&request->request, MPI_STATUS_IGNORE));
  }
  free(request);
  return MPI_SUCCESS;
}

static void text(int code, char* words, size_t bytes) {
  char said[MPI_MAX_ERROR_STRING] = "an unknown error";
  int length;
  MPI_Error_string(code, said, &length);
  snprintf(words, bytes, "%s", said);
}

__attribute__((visibility("default"))) const struct longship_mpi_calls* longship_mpi(void) {
  static const struct longship_mpi_calls calls = {
      LONGSHIP_MPI_VERSION, library, start, nodes, stop, open_messages, close_messages, send, receive, test, wait_any, forget, text};
  return &calls;
}
