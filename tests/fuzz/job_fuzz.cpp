// SPDX-License-Identifier: Apache-2.0
// A job as somebody else submits it: refused with an Error, or valid, and then it can be written and read
// again.
#include <cstdlib>

#include "base/error.h"
#include "fuzz/input.h"
#include "job/job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  std::string written;
  try {
    written = job::to_json(job::from_json(fuzz::text_of(data, size), "fuzz"));
  } catch (const Error&) {
    return 0;
  }
  if (job::to_json(job::from_json(written, "again")) != written) std::abort();
  return 0;
}
