// SPDX-License-Identifier: Apache-2.0
#include "installation.h"

#include "base/error.h"

namespace longship::cli {
namespace fs = std::filesystem;

fs::path prefix() {
  static const fs::path found = [] {
    for (fs::path at = fs::read_symlink("/proc/self/exe").parent_path(); at != at.root_path();
         at = at.parent_path())
      if (fs::exists(at / "bin" / "longship")) return at;
    throw Error("cannot find the installation this program belongs to: there is no bin/longship above {}",
                fs::read_symlink("/proc/self/exe").string());
  }();
  return found;
}

fs::path small_program() {
  return prefix() / "bin" / "longship";
}

fs::path node_program() {
  return prefix() / "libexec" / "longship" / "longship-node";
}

fs::path large_program() {
  return prefix() / "libexec" / "longship" / "longship";
}

fs::path in_the_box() {
  return prefix() / "lib" / "longship";
}

}  // namespace longship::cli
