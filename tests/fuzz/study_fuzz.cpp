// SPDX-License-Identifier: Apache-2.0
// What a study reads that others wrote: a rule of its file, an event of a journal, a line of metrics. Each is
// understood or refused with an Error; what was understood is the same again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "study/event.h"
#include "sweep/expression.h"
#include "sweep/metrics.h"

namespace {

using namespace longship;

std::optional<sweep::Expression::Kind> kind_of(std::string_view name) {
  if (name == "lr") return sweep::Expression::Kind::number;
  if (name == "net") return sweep::Expression::Kind::text;
  if (name == "norm") return sweep::Expression::Kind::truth;
  return {};
}

void try_rule(std::string_view text) {
  const std::vector<std::string> names = {"lr", "net", "norm"};
  const sweep::Expression rule(text, kind_of, names);
  formats::Table values;
  values.set("lr", 0.5);
  values.set("net", "small");
  values.set("norm", true);
  const bool kept = rule.holds(values);
  const sweep::Expression opposite("not (" + rule.text() + ")", kind_of, names);
  if (opposite.holds(values) == kept) std::abort();
}

void try_event(std::string_view bytes) {
  const auto again = study::encoded(study::decoded(bytes));
  if (study::encoded(study::decoded(again)) != again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 'r')
      try_rule(rest);
    else if (data[0] == 'm')
      (void)sweep::last_value(rest, "loss");
    else
      try_event(rest);
  } catch (const Error& error) {
    if (*error.what() == '\0') std::abort();
  }
  return 0;
}
