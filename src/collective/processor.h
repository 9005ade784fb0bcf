// SPDX-License-Identifier: Apache-2.0
// What this processor can do, and this kernel lets programs use.
#pragma once

namespace longship::collective {

struct Processor {
  bool avx2 = false;    // with F16C
  bool avx512 = false;  // F, BW, DQ and VL
};
[[nodiscard]] Processor this_processor();

}  // namespace longship::collective
