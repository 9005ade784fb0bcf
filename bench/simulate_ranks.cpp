// SPDX-License-Identifier: Apache-2.0
// One rank of a simulated machine: the schedules of src/collective as they are, over MPI, whose calls
// SimGrid's SMPI takes as messages of the machine it simulates. bench/simulate.py compiles it with smpicxx
// and runs it.
//
//   simulate_ranks SCHEDULE BYTES…       prints "BYTES SECONDS EXPECTED" for each, of simulated time
//
// What is expected is what the cost table (costs.h) says of the schedule, on a network whose latency and rate
// are found by a message there and back; of MPI's own it says nothing.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/costs.h"
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

struct Named {
  Allreduce run;
  std::optional<Way> way;  // none: MPI's own
};
const std::map<std::string, Named> schedules = {
    {"mpi", {library, {}}},
    {"ring", {ring, Way::ring}},
    {"halving-doubling", {halving_doubling, Way::halving_doubling}}};

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

// One way of a message between the first and the last rank: half of there and back.
double one_way(MpiTransport& transport, Tag tag, std::size_t bytes) {
  const int last = transport.size() - 1;
  const int peer = transport.rank() == 0 ? last : 0;
  std::vector<std::byte> data(bytes);
  const auto pass = [&](bool sends) {
    Completion done;
    sends ? transport.send(peer, tag, data, done) : transport.receive(peer, tag, data, done);
    while (!done.done)
      if (!transport.progress()) transport.block();
  };
  if (transport.rank() != 0 && transport.rank() != last) return 0;
  const auto there_and_back = [&] {
    for (const bool first : {true, false}) pass((transport.rank() == 0) == first);
  };
  there_and_back();  // so that both are here
  const double begin = MPI_Wtime();
  there_and_back();
  return (MPI_Wtime() - begin) / 2;
}

// Computing takes no time here.
Costs measured_costs(MpiTransport& transport) {
  constexpr std::size_t many = 1 << 20;
  Costs costs;
  costs.reduce_per_byte = 0;
  costs.network.latency = one_way(transport, 1, sizeof(float));
  costs.network.per_byte = (one_way(transport, 2, many) - costs.network.latency) / static_cast<double>(many);
  return costs;
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
    const Costs costs = place.size > 1 ? measured_costs(transport) : Costs{};
    const Layout nodes{place.size, place.size};
    for (int i = 2; i < count; ++i) {
      const std::size_t bytes = std::strtoul(words[i], nullptr, 10);
      const double taken =
          seconds(schedule->second.run, &transport, static_cast<Tag>(i + 10), bytes) - of_barrier;
      const auto way = schedule->second.way;
      const double told = way ? expected(*way, static_cast<double>(bytes), nodes, costs) : 0;
      if (place.rank == 0) std::printf("%zu %.9f %.9f\n", bytes, taken, told);
    }
    while (!transport.leave()) transport.block();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return calls.stop();
}
