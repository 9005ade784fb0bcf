// SPDX-License-Identifier: Apache-2.0
// One rank of a real MPI: what the conformance suite asks of a Transport that ranks in threads can show,
// asked of MpiTransport by ranks in processes, and the schedules over it. `mpirun -n N mpi_ranks LIBRARY`
// ends with 0 if all is well on all of them.
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "collective/mpi_library.h"
#include "collective/mpi_transport.h"
#include "collective/schedules.h"

namespace {

using namespace longship::collective;

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void drive(MpiTransport& transport, const std::function<bool()>& done) {
  while (!done())
    if (!transport.progress() && !done() && transport.arm())
      transport.wait(std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

void drive(MpiTransport& transport, Schedule schedule) {
  drive(transport, [&] { return schedule.step(); });
}

std::vector<std::byte> pattern(std::size_t length, int seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
  return bytes;
}

void messages_of_every_size_arrive_unchanged(MpiTransport& transport) {
  const int size = transport.size();
  const int right = (transport.rank() + 1) % size;
  const int left = (transport.rank() + size - 1) % size;
  for (const std::size_t length : {0u, 1u, 16u, 8191u, 8192u, 8193u, 65536u, 3'000'001u}) {
    const auto out = pattern(length, transport.rank());
    std::vector<std::byte> in(length + 10);
    Completion sent, received;
    transport.send(right, 7, out, sent);
    transport.receive(left, 7, in, received);
    drive(transport, [&] { return sent.done && received.done; });
    in.resize(received.bytes);
    require(in == pattern(length, left), "a message of " + std::to_string(length) + " bytes came changed");
  }
}

// Long and short ones in turn, asked for in another order than they were sent.
void tags_do_not_mix_and_keep_their_order(MpiTransport& transport) {
  constexpr std::size_t count = 40;
  const int size = transport.size();
  const int right = (transport.rank() + 1) % size;
  const int left = (transport.rank() + size - 1) % size;
  std::deque<std::vector<std::byte>> out;
  std::deque<Completion> sent;
  for (std::size_t i = 0; i < count; ++i)
    transport.send(right, (Tag{1} << 40) + i % 2,
                   out.emplace_back(pattern(i % 4 < 2 ? 100 : 20'000, static_cast<int>(i))),
                   sent.emplace_back());
  for (const std::size_t parity : {1u, 0u}) {
    for (std::size_t i = parity; i < count; i += 2) {
      std::vector<std::byte> in(20'000);
      Completion received;
      transport.receive(left, (Tag{1} << 40) + parity, in, received);
      drive(transport, [&] { return received.done; });
      in.resize(received.bytes);
      require(in == out[i], "message " + std::to_string(i) + " came out of order");
    }
  }
  for (const auto& one : sent) drive(transport, [&] { return one.done; });
}

void schedules_compute(MpiTransport& transport) {
  Tag tag = 1000;
  const int size = transport.size();
  const auto n = static_cast<float>(size);
  for (const std::size_t count : {1u, 7u, 1000u, 300'001u}) {
    std::vector<float> values(count);
    const auto fill = [&] { std::iota(values.begin(), values.end(), static_cast<float>(transport.rank())); };
    const auto summed = [&](std::size_t i) { return n * static_cast<float>(i) + n * (n - 1) / 2; };
    const Values all{Type::f32, reinterpret_cast<std::byte*>(values.data()), count};
    fill();
    drive(transport, ring_allreduce(transport, ++tag, all, Op::sum));
    require(values.front() == summed(0) && values.back() == summed(count - 1), "the ring's sum is wrong");
    fill();
    drive(transport, halving_doubling_allreduce(transport, ++tag, all, Op::sum));
    require(values.front() == summed(0) && values.back() == summed(count - 1), "the sum of halves is wrong");
    fill();
    drive(transport, tree_broadcast(transport, ++tag, {all.data, count * sizeof(float)}, size - 1));
    require(values.front() == n - 1, "the broadcast brought something else");
  }
}

void a_wake_ends_a_wait(MpiTransport& transport) {
  transport.wake();
  transport.wait(std::chrono::steady_clock::now() + std::chrono::hours(1));
}

}  // namespace

int main(int count, char** words) {
  try {
    require(count == 2, "mpi_ranks LIBRARY");
    const MpiLibrary mpi(words[1]);
    MpiTransport transport(mpi.calls(), mpi.place().rank, mpi.place().size);
    if (transport.size() > 1) {
      messages_of_every_size_arrive_unchanged(transport);
      tags_do_not_mix_and_keep_their_order(transport);
    }
    require(mpi.place().local_size == mpi.place().size, "this is one node");
    for (const int node : mpi.nodes()) require(node == 0, "it is the first and only one");
    schedules_compute(transport);
    a_wake_ends_a_wait(transport);
    drive(transport, [&] { return transport.leave(); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
