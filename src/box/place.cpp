// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/error.h"
#include "base/text.h"
#include "names_ahead.h"

namespace longship::box {
namespace {

std::string above(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The name itself; a link is not followed.
Place look(int tree, const std::string& path) {
  struct stat seen = {};
  if (::fstatat(tree, path.c_str(), &seen, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0)
    return {.path = path, .exists = true, .mode = seen.st_mode};
  if (errno != ENOENT && errno != ENOTDIR)
    throw Error::from_errno(errno, "cannot look at /{} in the image", printable(path));
  return {.path = path, .exists = false, .mode = 0};
}

std::string link_at(int tree, const std::string& path) {
  char target[PATH_MAX];
  const auto size = ::readlinkat(tree, path.c_str(), target, sizeof target);
  if (size < 0) throw Error::from_errno(errno, "cannot read the link /{}", printable(path));
  return {target, static_cast<std::size_t>(size)};
}

}  // namespace

Place find_place(int tree, std::string_view path) {
  NamesAhead rest;
  walk_first(rest, path);
  Place place = look(tree, "");
  for (int links = 0; !rest.empty();) {
    const std::string part = next_name(rest);
    const std::string parent = place.path;
    place = look(tree, part == ".." ? above(parent) : parent.empty() ? part : parent + "/" + part);
    if (!place.exists || !S_ISLNK(place.mode)) continue;
    if (++links > most_links)
      throw Error::from_errno(ELOOP, "cannot follow /{} in the image", printable(place.path));
    const std::string target = link_at(tree, place.path);
    walk_first(rest, target);
    place = look(tree, target.starts_with('/') ? "" : parent);
  }
  return place;
}

}  // namespace longship::box
