// SPDX-License-Identifier: Apache-2.0
#include "limits.h"

#include <sys/resource.h>

#include "base/error.h"

namespace longship::collective {
namespace {

std::uint64_t longest_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace

bool within_file_limit(std::uint64_t length) {
  return length <= longest_file();
}

void check_file_limit(std::uint64_t length) {
  if (within_file_limit(length)) return;
  throw Error("{} bytes of shared memory are more than a file may have here, which is {} (ulimit -f)", length,
              longest_file());
}

}  // namespace longship::collective
