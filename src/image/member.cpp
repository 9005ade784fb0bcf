// SPDX-License-Identifier: Apache-2.0
#include "member.h"

#include "base/error.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::size_t longest_path = 4095;  // Linux counts the NUL at its end too
constexpr std::size_t longest_name = 255;
constexpr std::string_view whiteout_prefix = ".wh.";
constexpr std::string_view aufs_prefix = ".wh..wh.";
constexpr std::string_view opaque_marker = ".wh..wh..opq";

}  // namespace

std::string normal_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) throw Error("the name {} has a NUL in it", printable(path));
  if (path.size() > longest_path) throw Error("a name of {} bytes is too long", path.size());
  std::string normal;
  for (const auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") throw Error("the name {} has \"..\" in it and could leave the image", printable(path));
    if (part.size() > longest_name)
      throw Error("the name {} has a part of over {} bytes", printable(path), longest_name);
    if (!normal.empty()) normal += '/';
    normal += part;
  }
  return normal;
}

void check_link(std::string_view text) {
  if (text.empty() || text.size() > longest_path || text.find('\0') != std::string_view::npos)
    throw Error("the symbolic link has an impossible target");
}

bool interpret_whiteout(Member& member) {
  const auto slash = member.path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  const std::string name = member.path.substr(start);
  if (!name.starts_with(whiteout_prefix)) return true;
  if (name == opaque_marker) {
    member.kind = Kind::opaque;
    member.path.resize(slash == std::string::npos ? 0 : slash);
    return true;
  }
  if (name.starts_with(aufs_prefix)) return false;
  const std::string hidden = name.substr(whiteout_prefix.size());
  if (hidden.empty() || hidden == "." || hidden == "..")
    throw Error("the whiteout {} does not say what it hides", printable(member.path));
  member.kind = Kind::whiteout;
  member.path.replace(start, std::string::npos, hidden);
  return true;
}

}  // namespace longship::image
