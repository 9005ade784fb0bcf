// SPDX-License-Identifier: Apache-2.0
// Ranks with all their parts, each in a thread of its own.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "collective/driver.h"
#include "collective/engine.h"
#include "worlds.h"

namespace longship::collective {

inline Request request(Kind kind, const std::string& name, std::vector<float>& values, Op op = Op::sum,
                       int root = 0) {
  return {{kind, Type::f32, op, root, values.size(), name}, reinterpret_cast<std::byte*>(values.data())};
}

struct Rank {
  Rank(StreamTransport& transport, const Engine::Options& options)
      : engine(transport, options, nullptr), driver(transport, engine, true) {}
  Engine engine;
  Driver driver;
};

inline void on_engines(Spread spread, int size, const std::function<void(Driver&, int)>& work,
                       const Engine::Options& options = {}) {
  auto all = wirings(spread, size);
  std::vector<std::thread> threads;
  for (auto& wiring : all)
    threads.emplace_back([&] {
      const int number = wiring.rank;
      StreamTransport transport(std::move(wiring));
      auto own = options;
      for (int rank = 0; rank < size; ++rank) own.nodes.push_back(node_of(spread, rank));
      own.segment = transport.segment();
      Rank rank(transport, own);
      work(rank.driver, number);
    });
  for (auto& thread : threads) thread.join();
}

// What a result gathered, as floats.
inline std::vector<float> floats_of(const Result& result) {
  std::vector<float> values(result.gathered.size() / sizeof(float));
  std::ranges::copy(result.gathered, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

}  // namespace longship::collective
