// SPDX-License-Identifier: Apache-2.0
#include "small_file.h"

#include <unistd.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/fd.h"

namespace longship::box {
namespace {

constexpr std::size_t limit = 16u << 20;

std::optional<std::string> read_all(int file) {
  std::string text;
  char part[8192];
  ssize_t size = 0;
  while ((size = ::read(file, part, sizeof part)) > 0 && text.size() < limit)
    text.append(part, static_cast<std::size_t>(size));
  if (size < 0) return {};
  return text;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {};
  return read_all(file.get());
}

std::optional<std::string> read_small_file_in(int tree, const std::string& path) {
  try {
    const Fd file = open_beneath(tree, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, Links::confine);
    return read_all(file.get());
  } catch (const Error&) {
    return {};
  }
}

}  // namespace longship::box
