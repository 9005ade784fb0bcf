// SPDX-License-Identifier: Apache-2.0
// Does an image run on a host? Facts about both, found by looking (image, site), and the verdict with reason
// and remedy.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "version.h"

namespace longship::fit {

// What liblongship.so, bound into every box, is linked against.
inline const Version longship_needs_glibc{2, 28};

struct ImageFacts {
  std::string architecture;             // "x86_64" or "amd64"; empty: not known
  std::optional<Version> glibc;         // of the image; nothing: it has another C library, or none
  std::optional<Version> least_kernel;  // what its C library starts on, from the ABI note of its libc.so.6
  std::string mpi = {};                 // "openmpi 4.1.4", "mpich 4.0.2"; empty: none was found
  std::string mpi_abi = {};             // soname of its MPI, "libmpi.so.40"; empty: not known
  // Of these nothing means that it has none, if it was looked for at all.
  bool looked_for_software = false;
  std::optional<Version> libstdcxx = {}, pmix = {}, cuda = {};
};

// From the words of the store's records: "glibc 2.36", "openmpi 4.1.4", {"cuda": "11.8"}.
using Software = std::map<std::string, std::string>;
[[nodiscard]] ImageFacts image_facts(std::string_view architecture, std::string_view libc,
                                     std::string_view mpi, const std::optional<Software>& software);
// Of what a store of images keeps, which this room does not know.
template <class Kept>
[[nodiscard]] ImageFacts image_facts(const Kept& kept) {
  return image_facts(kept.architecture, kept.libc, kept.mpi, kept.software);
}

struct HostFacts {
  std::string architecture;  // as uname tells
  Version kernel;
  std::string mpi = {};               // the site's own, as above; empty: none, or not known
  std::vector<std::string> pmi = {};  // what its launcher speaks: "pmix", "pmi2"; empty: not known
  std::string name = "this machine";  // for people
  // What the libraries of the site's MPI want of the image that they are let into, if that is known.
  std::optional<Version> mpi_glibc = {};
  bool lets_mpi_in = false;            // it always is let in
  std::optional<Version> driver = {};  // NVIDIA's; nothing: there is none, or it is not known
};

enum class Fit {
  good,
  limited,  // it starts, but something will not work in it
  none,     // it cannot start
};

struct Finding {
  std::string about;  // "architecture", "C library", "kernel", "MPI", "PMIx", "host MPI", "CUDA"
  Fit fit = Fit::good;
  std::string reason;
  std::string remedy;  // empty if nothing needs one
};

// One finding for each thing that could be compared, in the order in which they would go wrong. `mpi_job`:
// the MPI launcher of the host starts the ranks, with the image's MPI in them.
[[nodiscard]] std::vector<Finding> verdict(const ImageFacts& image, const HostFacts& host,
                                           bool mpi_job = false);
[[nodiscard]] Fit worst(std::span<const Finding> findings);

// "openmpi" of "openmpi 4.1.4".
[[nodiscard]] std::string mpi_family(std::string_view mpi);
// The interface by which a family's ranks find their launcher: "pmix" or "pmi2"; empty for an unknown family.
[[nodiscard]] std::string_view pmi_of(std::string_view family);
// Whether `pmi`, as `srun --mpi=list` tells it ("pmix_v4" too), has the one that is wanted.
[[nodiscard]] bool offers(std::span<const std::string> pmi, std::string_view wanted);

// Images say "amd64", kernels "x86_64": the kernel's word for either.
[[nodiscard]] std::string_view kernel_architecture(std::string_view name);

}  // namespace longship::fit
