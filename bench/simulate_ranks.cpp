// SPDX-License-Identifier: Apache-2.0
// One rank of a simulated machine: the schedules of src/collective as they are, over MPI, whose calls
// SimGrid's SMPI takes as messages of the machine it simulates. bench/simulate.py compiles it with smpicxx
// and runs it.
//
//   simulate_ranks SCHEDULE BYTES…       prints "BYTES SECONDS" for each, of simulated time
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "collective/mpi_transport.h"
#include "collective/schedules.h"

namespace {

using namespace longship::collective;

void drive(MpiTransport& transport, Schedule schedule) {
  while (!schedule.step())
    if (!transport.progress()) transport.block();
}

using Allreduce = std::function<void(MpiTransport*, Tag, Values)>;

void library(MpiTransport* /*transport*/, Tag /*tag*/, Values values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data, static_cast<int>(values.count), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

void ring(MpiTransport* transport, Tag tag, Values values) {
  drive(*transport, ring_allreduce(*transport, tag, values, Op::sum));
}

void halving_doubling(MpiTransport* transport, Tag tag, Values values) {
  drive(*transport, halving_doubling_allreduce(*transport, tag, values, Op::sum));
}

const std::map<std::string, Allreduce> schedules = {
    {"mpi", library}, {"ring", ring}, {"halving-doubling", halving_doubling}};

// Large tensors of all ranks are the same memory: a thousand ranks fit into one machine, whose sums nobody
// looks at.
constexpr std::size_t own_memory = 64 * 1024;

double seconds(const Allreduce& allreduce, MpiTransport* transport, Tag tag, std::size_t bytes) {
  auto* const data =
      static_cast<std::byte*>(bytes > own_memory ? SMPI_SHARED_MALLOC(bytes) : std::calloc(1, bytes));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  allreduce(transport, tag, {Type::f32, data, bytes / sizeof(float)});
  MPI_Barrier(MPI_COMM_WORLD);
  const double end = MPI_Wtime();
  bytes > own_memory ? static_cast<void>(SMPI_SHARED_FREE(data)) : std::free(data);
  return end - begin;
}

// What the barrier after the timed call takes by itself.
double barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

}  // namespace

int main(int count, char** words) {
  const auto& calls = *longship_mpi();
  longship_mpi_place place{};
  if (calls.start(0, &place) != 0) return 1;
  const auto schedule = count > 1 ? schedules.find(words[1]) : schedules.end();
  if (schedule == schedules.end()) return 2;
  {
    MpiTransport transport(calls, place.rank, place.size);
    const double of_barrier = barrier();
    for (int i = 2; i < count; ++i) {
      const std::size_t bytes = std::strtoul(words[i], nullptr, 10);
      const double taken = seconds(schedule->second, &transport, static_cast<Tag>(i), bytes) - of_barrier;
      if (place.rank == 0) std::printf("%zu %.9f\n", bytes, taken);
    }
    while (!transport.leave()) transport.block();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return calls.stop();
}
