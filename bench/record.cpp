// SPDX-License-Identifier: Apache-2.0
// What recording costs a training process: ns per entry, bytes per span, also with two threads at once.
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>

#include "base/file.h"
#include "record/reader.h"
#include "record/writer.h"

namespace longship::record {
namespace {

Instant at(std::int64_t nanoseconds) {
  return Instant(std::chrono::nanoseconds(nanoseconds));
}

void span(benchmark::State& state) {
  static TemporaryDirectory* directory = nullptr;
  static std::unique_ptr<Writer> writer;
  if (state.thread_index() == 0) {
    directory = new TemporaryDirectory("longship-bench");
    writer = Writer::open(directory->path(), {});
  }
  std::int64_t time = 0;
  for (auto _ : state) {
    writer->span(Activity::communication, "synchronize", at(time), at(time + 41'234));
    time += 1'034'567;
  }
  if (state.thread_index() == 0) {
    writer.reset();
    const auto bytes = std::filesystem::file_size(log_path(directory->path(), 0));
    state.counters["bytes/span"] = static_cast<double>(bytes) / static_cast<double>(state.iterations()) /
                                   static_cast<double>(state.threads());
    delete directory;
  }
}
BENCHMARK(span)->Threads(1)->Threads(2)->UseRealTime()->Iterations(3'000'000);

void collective(benchmark::State& state) {
  const TemporaryDirectory directory("longship-bench");
  const auto writer = Writer::open(directory.path(), {});
  std::uint64_t sequence = 0;
  std::int64_t time = 0;
  for (auto _ : state) {
    writer->collective(sequence++, "gradients", 4 << 20, at(time), at(time + 10'000), at(time + 900'000));
    time += 1'000'000;
  }
}
BENCHMARK(collective)->Iterations(3'000'000);

}  // namespace
}  // namespace longship::record

BENCHMARK_MAIN();
