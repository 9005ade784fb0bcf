// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "call.h"
#include "collective/device_meeting.h"
#include "collective/nccl_library.h"

int longship_nccl_open(int process_set) {
  using namespace longship;
  return abi::guarded([&]() -> int {
    const auto current = abi::session();
    const auto variable = [](const char* name) -> std::optional<std::string> {
      const char* const value = std::getenv(name);
      if (value == nullptr || *value == '\0') return {};
      return value;
    };
    collective::meet_on_devices(current->driver(), process_set, abi::ranks_of_set(process_set),
                                current->rank(), collective::nccl_file(variable));
    return LONGSHIP_OK;
  });
}
