// SPDX-License-Identifier: Apache-2.0
// Any text at all is an expression, or refused with an Error; one that was read can be asked and is the same
// again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "site/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  try {
    const site::Expression expression({reinterpret_cast<const char*>(data), size});
    const site::Asked asked{.nodes = 4, .ranks = 16, .walltime = 7200, .memory = 1 << 30, .team = "clic"};
    const bool accepted = expression.accepts(asked);
    if (site::Expression("not (" + expression.text() + ")").accepts(asked) == accepted) std::abort();
    (void)expression.facts(asked);
  } catch (const Error& error) {
    // The parentheses around it may be one too many, or the text too long.
    const std::string_view said = error.what();
    if (said.empty()) std::abort();
  }
  return 0;
}
