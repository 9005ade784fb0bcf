// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <filesystem>
#include <new>
#include <system_error>

#include "text.h"

namespace longship {
namespace {

// libstdc++ says "filesystem error: cannot create directories: Not a directory [/x]"; others say other words
// in front of the same.
std::string attempted(const std::filesystem::filesystem_error& error) {
  const std::string_view text = error.what();
  const auto begin = text.find("cannot ");
  const auto end = text.find(':', begin);
  return begin == text.npos || end == text.npos ? "cannot look at"
                                                : std::string(text.substr(begin, end - begin));
}

}  // namespace

void Error::add(std::string_view doing) {
  text_.insert(0, ": ");
  text_.insert(0, doing);
}

Error Error::of(const std::exception& thrown) {
  if (const auto* ours = dynamic_cast<const Error*>(&thrown)) return *ours;
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) return Error("out of memory");
  const auto* theirs = dynamic_cast<const std::filesystem::filesystem_error*>(&thrown);
  if (theirs == nullptr) return Error("{}", thrown.what());
  auto text = fmt::format("{} {}", attempted(*theirs), printable(theirs->path1().native()));
  if (!theirs->path2().empty()) text += fmt::format(" to {}", printable(theirs->path2().native()));
  return with_number(theirs->code().value(), std::move(text));
}

Error Error::with_number(int number, std::string text) {
  Error error("{}: {}", text, std::generic_category().message(number));
  error.number_ = number;
  return error;
}

}  // namespace longship
