/* SPDX-License-Identifier: Apache-2.0 */
/* A number goes once around all ranks, then all ranks add up something: the smallest program that shows whether
 * the ranks of an MPI program found each other. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 100000

int main(int argc, char** argv) {
  int rank, size, length, token = 0;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);

  /* Each rank adds its number to the token and hands it on. */
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank;
  if (size > 1) MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  if (rank == 0 && size > 1) MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  /* The sum over all ranks of a vector of (rank + 1). */
  double* values = malloc(COUNT * sizeof *values);
  for (int i = 0; i < COUNT; ++i) values[i] = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, values, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i)
    if (values[i] != size * (size + 1) / 2.0) MPI_Abort(MPI_COMM_WORLD, 3);
  free(values);

  const char* node = getenv("LONGSHIP_NODE");
  printf("rank %d of %d on %s\n", rank, size, node != NULL ? node : host);
  if (rank == 0) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(version, &length);
    for (int i = 0; i < length; ++i)
      if (version[i] == '\n' || version[i] == ',') version[i] = '\0'; /* its first words */
    printf("ring %d, sum %d, %s\n", token, size * (size + 1) / 2, version);
  }
  MPI_Finalize();
  return 0;
}
