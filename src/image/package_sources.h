// SPDX-License-Identifier: Apache-2.0
// Where this machine gets its packages from, and so where an image of it can: no addresses are built in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace longship::image {

struct PackageSource {
  std::string uri, suite, component;
};

// What apt is configured with.
[[nodiscard]] std::vector<PackageSource> sources_of_this_machine();
[[nodiscard]] std::vector<PackageSource> parse_sources(
    std::string_view indextargets);  // its output: URI SUITE COMPONENT

// The same servers for another release: bookworm, bookworm-updates → trixie, trixie-updates. `own` is the
// release of the machine; sources that do not belong to it (a vendor's) are left out.
[[nodiscard]] std::vector<PackageSource> sources_for(std::string_view release,
                                                     const std::vector<PackageSource>& machine,
                                                     std::string_view own);

// "deb URI SUITE COMPONENT…", one per suite.
[[nodiscard]] std::vector<std::string> apt_lines(const std::vector<PackageSource>& sources);

[[nodiscard]] std::string release_of_this_machine();  // VERSION_CODENAME of os-release

}  // namespace longship::image
