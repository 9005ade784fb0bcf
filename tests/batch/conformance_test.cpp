// SPDX-License-Identifier: Apache-2.0
#include "conformance.h"

#include "batch/local.h"
#include "batch/slurm.h"

namespace longship::batch {
namespace {

std::vector<System> systems() {
  std::vector<System> all = {
      {"Local",
       [](const auto& directory) {
         return std::make_unique<Local>(directory, Capacity{4, 0, 0}, std::chrono::milliseconds(200));
       },
       "local"}};
  // tests/system/test_site.py sets it, with a Slurm of its own.
  if (std::getenv("LONGSHIP_TEST_SLURM") != nullptr)
    all.push_back({"Slurm", [](const auto&) { return std::make_unique<Slurm>(); }, "debug", 2});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Batch, ConformanceTest, testing::ValuesIn(systems()),
                         [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace longship::batch
