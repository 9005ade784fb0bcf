// SPDX-License-Identifier: Apache-2.0
// Whatever squeue, sacct and sbatch say is understood or refused with an Error, and every name is answered;
// words for the script stay on one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "batch/slurm_text.h"

namespace {

template <class Work>
void tried(Work&& work) {
  try {
    work();
  } catch (const longship::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship::batch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names = {"p1", "p2"};
  tried([&] {
    if (parse_squeue(text, names).size() != names.size()) std::abort();
  });
  tried([&] {
    for (const auto& [name, report] : parse_sacct(text, names))
      if (report.state != State::ended && report.state != State::unknown) std::abort();
  });
  tried([&] {
    if (parse_sbatch(text).find_first_not_of("0123456789") != std::string::npos) std::abort();
  });
  if (parse_time(text) < 0) std::abort();
  if (shell_word(text).find_first_of("\r\n") != std::string::npos) std::abort();
  return 0;
}
