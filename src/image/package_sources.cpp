// SPDX-License-Identifier: Apache-2.0
#include "package_sources.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace longship::image {

std::vector<PackageSource> sources_of_this_machine() {
  return within("asking apt for its sources", [] {
    return parse_sources(
        output_of({.arguments = {"apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                                 "Created-By: Packages"},
                   .environment = {},
                   .directory = {}}));
  });
}

std::vector<PackageSource> parse_sources(std::string_view indextargets) {
  std::vector<PackageSource> sources;
  for (const auto line : split(indextargets, '\n')) {
    if (trim(line).empty()) continue;
    const auto fields = split(trim(line), ' ');
    if (fields.size() != 3)
      throw Error("apt says \"{}\", which is not a URI, a suite and a component", printable(line));
    sources.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
  }
  return sources;
}

std::vector<PackageSource> sources_for(std::string_view release, const std::vector<PackageSource>& machine,
                                       std::string_view own) {
  std::vector<PackageSource> sources;
  for (const auto& source : machine) {
    const bool belongs = source.suite == own || source.suite.starts_with(std::string(own) + "-");
    if (!belongs) continue;
    sources.push_back({source.uri, std::string(release) + source.suite.substr(own.size()), source.component});
  }
  return sources;
}

std::vector<std::string> apt_lines(const std::vector<PackageSource>& sources) {
  std::vector<std::string> lines;
  for (const auto& source : sources) {
    const std::string start = "deb " + source.uri + " " + source.suite;
    const auto line = std::find_if(lines.begin(), lines.end(),
                                   [&](const auto& one) { return one.starts_with(start + " "); });
    if (line == lines.end()) {
      lines.push_back(start + " " + source.component);
    } else {
      *line += " " + source.component;
    }
  }
  return lines;
}

std::string release_of_this_machine() {
  const std::string text = read_file("/etc/os-release", 1u << 20);
  for (const auto line : split(text, '\n'))
    if (line.starts_with("VERSION_CODENAME=")) return std::string(trim(line.substr(line.find('=') + 1)));
  throw Error(Failure::impossible,
              "/etc/os-release does not say which release of Debian this is: give --mirror");
}

}  // namespace longship::image
