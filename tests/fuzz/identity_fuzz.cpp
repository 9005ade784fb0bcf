// SPDX-License-Identifier: Apache-2.0
// An image's tables of users and groups, of any bytes: the caller is added in a line of its own, once, and
// what the image has stays as it is.
#include <cstdlib>
#include <optional>
#include <string>

#include "box/identity.h"
#include "fuzz/input.h"

namespace {

using namespace longship;

void expect(bool true_) {
  if (!true_) std::abort();
}

template <typename Add>
void try_table(std::string_view table, const box::Caller& caller, const Add& add) {
  const std::optional<std::string> made = add(table, caller);
  if (!made) return;  // the image knows the id
  expect(made->starts_with(table) && made->ends_with('\n'));
  const auto added = std::string_view(*made).substr(table.size());
  const bool cut = !table.empty() && table.back() != '\n';
  expect(added.find('\n', cut ? 1 : 0) == added.size() - 1);
  expect(!add(*made, caller));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = fuzz::text_of(data, size);
  box::Caller caller;
  caller.user = caller.group = 1000;
  caller.name = caller.group_name = "ada";
  caller.home = "/home/ada";
  try_table(table, caller, box::passwd_with);
  try_table(table, caller, box::group_with);
  return 0;
}
