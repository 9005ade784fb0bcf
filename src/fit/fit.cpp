// SPDX-License-Identifier: Apache-2.0
#include "fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cuda.h"

namespace longship::fit {
namespace {

Finding judge_architecture(const ImageFacts& image, const HostFacts& host) {
  const auto wanted = kernel_architecture(image.architecture), given = kernel_architecture(host.architecture);
  if (wanted == given) return {"architecture", Fit::good, fmt::format("both are {}", given), ""};
  return {"architecture", Fit::none, fmt::format("the image is for {}, {} is {}", wanted, host.name, given),
          fmt::format("build the image on a machine that is {}, or pull its variant for that", given)};
}

Finding judge_library(const ImageFacts& image) {
  const auto needed = longship_needs_glibc.text();
  if (!image.glibc)
    return {
        "C library", Fit::limited,
        fmt::format(
            "the image has no glibc: programs run, but \"import longship\" does not, which needs glibc {}",
            needed),
        fmt::format("start from an image with glibc {} or newer, such as debian:bookworm", needed)};
  const auto given = image.glibc->text();
  if (*image.glibc >= longship_needs_glibc)
    return {"C library", Fit::good, fmt::format("glibc {}, and Longship needs {}", given, needed), ""};
  return {
      "C library", Fit::limited,
      fmt::format("the image has glibc {}: programs run, but \"import longship\" does not, which needs {}",
                  given, needed),
      fmt::format("start from an image with glibc {} or newer (Debian 10, RHEL 8, Ubuntu 20.04)", needed)};
}

Finding judge_kernel(const Version& least, const HostFacts& host) {
  if (host.kernel >= least)
    return {"kernel", Fit::good,
            fmt::format("Linux {}, and the image's C library needs {}", host.kernel.text(), least.text()),
            ""};
  return {"kernel", Fit::none,
          fmt::format("the image's C library stops with \"kernel too old\" before Linux {}, {} has {}",
                      least.text(), host.name, host.kernel.text()),
          "start from an older distribution's image"};
}

std::string name_of(std::string_view family) {
  return family == "openmpi" ? "Open MPI" : family == "mpich" ? "MPICH" : std::string(family);
}

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

Finding judge_mpi(const ImageFacts& image, const HostFacts& host) {
  const auto family = mpi_family(image.mpi), given = mpi_family(host.mpi);
  if (family.empty())
    return {"MPI", Fit::limited, "no MPI library was found in the image, and the job is an MPI program",
            "build the image with Open MPI or MPICH in it"};
  const auto wanted = pmi_of(family);
  if (!given.empty() && given != family)
    return {"MPI", Fit::none,
            fmt::format("the image has {}, the MPI of the site is {}", name_of(family), name_of(given)),
            fmt::format("build a variant of the image with {}", name_of(given))};
  if (!host.pmi.empty() && !wanted.empty() && !offers(host.pmi, wanted))
    return {"MPI", Fit::none,
            fmt::format("the image's {} needs a launcher that speaks {}, and the one of the site offers {}",
                        name_of(family), wanted, list_of(host.pmi)),
            offers(host.pmi, "pmix")   ? "build a variant of the image with Open MPI"
            : offers(host.pmi, "pmi2") ? "build a variant of the image with MPICH"
                                       : fmt::format("ask the centre for Slurm's {} plugin", wanted)};
  return {"MPI", Fit::good, fmt::format("{}, started through {}", image.mpi, wanted), ""};
}

// Since these releases a PMIx client speaks to servers of other versions; before, only to its own. (The
// matrix of OMPI's wiki, "PMIx to PMIx compatibility".)
bool speaks_to_others(const Version& client) {
  if (client < Version(2, 0)) return client >= Version(1, 2, 5);
  if (client < Version(2, 1)) return client >= Version(2, 0, 3);
  return client >= Version(2, 1, 1);
}

// The majors in "pmix_v3", "pmix_v4"; nothing if the launcher does not tell.
std::vector<int> pmix_servers(const HostFacts& host) {
  constexpr std::string_view before = "pmix_v";
  std::vector<int> majors;
  for (const auto& word : host.pmi)
    if (word.starts_with(before))
      if (const auto version = Version::parse(std::string_view(word).substr(before.size())))
        majors.push_back(version->first());
  return majors;
}

Finding judge_pmix(const Version& client, const HostFacts& host) {
  const auto servers = pmix_servers(host);
  const auto newest = servers.empty() ? client.first() : *std::max_element(servers.begin(), servers.end());
  const bool same = std::find(servers.begin(), servers.end(), client.first()) != servers.end();
  const auto of_host = servers.empty() ? std::string("PMIx") : fmt::format("PMIx {}", newest);
  if (servers.empty() || same || (speaks_to_others(client) && newest >= 2))
    return {"PMIx", Fit::good, fmt::format("the image has {}, the launcher {}", client.text(), of_host), ""};
  return {"PMIx", Fit::none,
          fmt::format("the image has PMIx {}, which does not speak to the launcher's PMIx {}", client.text(),
                      newest),
          newest < 2 ? "ask the centre for a Slurm with a newer PMIx, or build a variant with MPICH, for pmi2"
                     : fmt::format("build the image with PMIx {} (or at least 2.1.1)", newest)};
}

// Libraries of the host that are let in run with the image's C library.
Finding judge_host_mpi(const Version& glibc, const HostFacts& host) {
  const auto& wanted = *host.mpi_glibc;
  if (glibc >= wanted)
    return {"host MPI", Fit::good,
            fmt::format("can be let in: it wants GLIBC_{}, the image has {}", wanted.text(), glibc.text()),
            ""};
  return {"host MPI", host.lets_mpi_in ? Fit::none : Fit::limited,
          fmt::format("the MPI of the site cannot be let in: it wants GLIBC_{}, the image has glibc {}",
                      wanted.text(), glibc.text()),
          fmt::format("use the image's own MPI, or build the image on a distribution with glibc {} or newer",
                      wanted.text())};
}

}  // namespace

std::vector<Finding> verdict(const ImageFacts& image, const HostFacts& host, bool mpi_job) {
  std::vector<Finding> findings;
  if (!image.architecture.empty()) findings.push_back(judge_architecture(image, host));
  if (image.least_kernel) findings.push_back(judge_kernel(*image.least_kernel, host));
  findings.push_back(judge_library(image));
  if (mpi_job) findings.push_back(judge_mpi(image, host));
  if (mpi_job && image.pmix && pmi_of(mpi_family(image.mpi)) == "pmix" && offers(host.pmi, "pmix"))
    findings.push_back(judge_pmix(*image.pmix, host));
  if (mpi_job && image.glibc && host.mpi_glibc && mpi_family(image.mpi) == mpi_family(host.mpi))
    findings.push_back(judge_host_mpi(*image.glibc, host));
  if (image.cuda && host.driver) findings.push_back(judge_cuda(*image.cuda, *host.driver));
  return findings;
}

ImageFacts image_facts(std::string_view architecture, std::string_view libc, std::string_view mpi,
                       const std::optional<Software>& software) {
  constexpr std::string_view glibc = "glibc ";
  ImageFacts facts;
  facts.architecture = architecture;
  if (libc.starts_with(glibc)) facts.glibc = Version::parse(libc.substr(glibc.size()));
  facts.mpi = mpi;
  if (!software) return facts;
  facts.looked_for_software = true;
  const auto version_of = [&](const char* name) -> std::optional<Version> {
    const auto found = software->find(name);
    return found == software->end() ? std::nullopt : Version::parse(found->second);
  };
  facts.libstdcxx = version_of("libstdc++");
  facts.pmix = version_of("pmix");
  facts.cuda = version_of("cuda");
  if (const auto abi = software->find("mpi-abi"); abi != software->end()) facts.mpi_abi = abi->second;
  return facts;
}

Fit worst(std::span<const Finding> findings) {
  Fit worst = Fit::good;
  for (const auto& finding : findings) worst = std::max(worst, finding.fit);
  return worst;
}

std::string mpi_family(std::string_view mpi) {
  return std::string(mpi.substr(0, mpi.find(' ')));
}

std::string_view pmi_of(std::string_view family) {
  return family == "openmpi" ? "pmix" : family == "mpich" ? "pmi2" : "";
}

bool offers(std::span<const std::string> pmi, std::string_view wanted) {
  return std::any_of(pmi.begin(), pmi.end(), [&](std::string_view one) {
    return one == wanted || (one.starts_with(wanted) && one[wanted.size()] == '_');
  });
}

std::string_view kernel_architecture(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words = {
      {{"amd64", "x86_64"}, {"arm64", "aarch64"}, {"386", "i686"}, {"loong64", "loongarch64"}}};
  for (const auto& [image, kernel] : words)
    if (image == name) return kernel;
  return name;
}

}  // namespace longship::fit
