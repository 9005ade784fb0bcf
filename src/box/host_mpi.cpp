// SPDX-License-Identifier: Apache-2.0
#include "host_mpi.h"

#include <sys/utsname.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace longship::box {
namespace fs = std::filesystem;
namespace {

const fs::path first_in_the_box = "/opt/longship-host/mpi/lib";
const fs::path last_in_the_box = "/opt/longship-host/mpi/other";

// Where images have their libraries: named, so that something can come after them.
std::string own_directories() {
  utsname about{};
  ::uname(&about);
  const auto triplet = std::string(about.machine) + "-linux-gnu";
  return "/usr/local/lib:/lib/" + triplet + ":/usr/lib/" + triplet + ":/lib64:/usr/lib64:/lib:/usr/lib";
}

void tell(const fit::Closure& closure) {
  explain("the host's MPI ({}) is let in: {} libraries, {} for what the image lacks, {} other places",
          closure.maker, closure.libraries.size(), closure.others.size(), closure.places.size());
  for (const auto& place : closure.places) explain("the host's MPI brings {} along", place.string());
  for (const auto& device : closure.devices) explain("the host's MPI can use {}", device.string());
  for (const auto& name : closure.missing)
    explain("{}, which a part of the host's MPI needs, is not on this host", printable(name));
}

fs::path library_of(const std::string& which, const fit::FileTree& host, const fit::ImageFacts& facts) {
  if (which != "host") return which;
  const auto family = fit::mpi_family(facts.mpi);
  if (family.empty() && !facts.looked_for_software && !facts.glibc)
    throw Error(Failure::impossible,
                "which MPI is in the image is not known: give it a name (longship image import FILE -t "
                "NAME), or name the "
                "library of the host's: --mpi /…/libmpi.so.12");
  if (family.empty())
    throw Error(
        Failure::impossible,
        "no MPI was found in the image, whose place the host's could take: use an image with Open MPI or "
        "MPICH in it, or name the library of the host's: --mpi /…/libmpi.so.12");
  if (const auto library = fit::find_host_mpi(host, current_environment(), family)) return *library;
  const auto* const words = family == "openmpi" ? "Open MPI" : "MPICH";
  throw Error(
      Failure::impossible,
      "there is no {} on this host that could take the place of the image's: load its module, name its "
      "library with --mpi /…/libmpi.so, or use the image's own",
      words);
}

}  // namespace

void let_in_host_mpi(const std::string& which, const fit::ImageFacts& facts, const Environment& image,
                     Spec& spec, Environment& chosen) {
  const fit::FileTree host;
  const auto library = library_of(which, host, facts);
  if (!facts.glibc)
    explain("which glibc the image has is not known: what the host's MPI wants is not checked");
  const auto closure = fit::fitted(fit::host_mpi(host, library, current_environment()), facts);
  tell(closure);
  detail::add_closure(closure, image, spec, chosen);
}

std::string mpi_of_site(const Environment& environment) {
  const auto found = environment.find("LONGSHIP_MPI");
  if (found == environment.end() || found->second.empty() || found->second == "image") return "image";
  if (found->second == "host" || found->second.starts_with('/')) return found->second;
  throw Error(Failure::usage, "LONGSHIP_MPI={}: not image, host or the path of a library",
              printable(found->second));
}

void detail::add_closure(const fit::Closure& closure, const Environment& image, Spec& spec,
                         Environment& chosen) {
  for (const auto& library : closure.libraries)
    spec.binds.push_back({.from = library.path, .to = first_in_the_box / library.name, .read_only = true});
  for (const auto& library : closure.others)
    spec.binds.push_back({.from = library.path, .to = last_in_the_box / library.name, .read_only = true});
  for (const auto& place : closure.places)
    spec.binds.push_back({.from = place, .to = place, .read_only = true});
  for (const auto& [name, value] : closure.environment) chosen.emplace(name, value);

  auto path = first_in_the_box.string();
  const auto& set = chosen.contains("LD_LIBRARY_PATH") ? chosen : image;
  if (const auto own = set.find("LD_LIBRARY_PATH"); own != set.end() && !own->second.empty())
    path += ":" + own->second;
  if (!closure.others.empty()) path += ":" + own_directories() + ":" + last_in_the_box.string();
  chosen["LD_LIBRARY_PATH"] = path;
}

}  // namespace longship::box
