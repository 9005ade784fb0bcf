// SPDX-License-Identifier: Apache-2.0
#include "image_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "small_file.h"

namespace longship::box {
namespace {

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;  // FNV-1a
  return hash;
}
constexpr std::uint64_t mix_begin = 0xcbf29ce484222325;

// For root others of its boxes may have other ids, which its user namespace has to know; anybody else is
// alone in its boxes.
std::uint64_t power_over_others() {
  struct stat about {};
  return ::geteuid() == 0 && ::stat("/proc/self/ns/user", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

Identity identity_of(int image, Ways ways) {
  struct stat about {};
  if (::fstat(image, &about) != 0) throw Error::from_errno(errno, "cannot look at the image");
  const auto moment = [](const timespec& at) {
    return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
  };
  return {.device = about.st_dev,
          .file = about.st_ino,
          .size = static_cast<std::uint64_t>(about.st_size),
          .modified = moment(about.st_mtim),
          .changed = moment(about.st_ctim),
          .group = ::getegid(),
          .ways = (ways.kernel ? 1U : 0U) + (ways.fuse ? 2U : 0U),
          .fate = detail::fate_of(read_small_file("/proc/self/cgroup").value_or("")),
          .users = power_over_others()};
}

Ways ways_of(const Identity& identity) {
  return {.kernel = (identity.ways & 1) != 0, .fuse = (identity.ways & 2) != 0};
}

// A dot: no name that a user gives to a box (join.h) begins so.
std::string meeting_name(const Identity& identity) {
  const std::string_view bytes(reinterpret_cast<const char*>(&identity), sizeof identity);
  return fmt::format(".image-{:016x}", mix(mix_begin, bytes));
}

std::uint64_t detail::fate_of(std::string_view groups) {
  std::uint64_t hash = mix_begin;
  for (auto line : split(groups, '\n')) {
    if (const auto task = line.rfind("/task_"); task != std::string_view::npos) line = line.substr(0, task);
    hash = mix(hash, line);
  }
  return hash;
}

}  // namespace longship::box
