// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "mpi_recipes.h"

namespace longship::fit {
namespace {

const std::vector<std::string_view> infiniband = {"infiniband", "hfi1*", "knem", "xpmem"};
const std::vector<std::string_view> mpich_siblings = {"libmpicxx.so.", "libmpichcxx.so.", "libmpifort.so.",
                                                      "libmpichfort.so.", "libmpichf90.so."};

const std::array recipes = {
    Recipe{.maker = "spectrum-mpi",
           .family = "openmpi",
           .says = {"IBM Spectrum MPI", "Spectrum MPI"},
           .libraries = {"libmpi_ibm.so.3", "libmpi_ibm.so.2"},
           .siblings = {"libmpi_ibm_", "libmpiprofilesupport.so.", "libcollectives.so.", "libopen-"},
           .loads = {"libpami.so.3", "libcollectives.so.3"},
           .places = {"spectrum_mpi", "pami_port", "pami_noib", "../share/spectrum_mpi", "../etc"},
           .devices = infiniband},
    Recipe{.maker = "openmpi",
           .family = "openmpi",
           .says = {"Open MPI"},
           .libraries = {"libmpi.so.40", "libmpi.so.20"},
           .siblings = {"libmpi_", "libopen-", "liboshmem.so.", "libmca_common_", "libompitrace.so."},
           .loads = {},
           .places = {"openmpi", "openmpi3", "../share/openmpi", "../../share/openmpi",
                      "../etc/openmpi-mca-params.conf", "/etc/openmpi"},
           .devices = infiniband},
    Recipe{.maker = "cray-mpich",
           .family = "mpich",
           .says = {"CRAY MPICH"},
           .libraries = {"libmpi.so.12", "libmpi_cray.so.12", "libmpi_gnu_91.so.12", "libmpich.so.12"},
           .siblings = mpich_siblings,
           .loads = {"libpmi.so.0", "libpmi2.so.0", "libpals.so.0", "libfabric.so.1", "libcxi.so.1",
                     "libxpmem.so.0"},
           .places = {"/etc/opt/cray", "/var/opt/cray/alps"},
           .devices = {"cxi*", "kgni0", "kdreg", "xpmem"}},
    Recipe{.maker = "intel-mpi",
           .family = "mpich",
           .says = {"Intel(R) MPI Library"},
           .libraries = {"libmpi.so.12"},
           .siblings = mpich_siblings,
           .loads = {"libfabric.so.1", "libpmi2.so.0", "libpmi.so.0"},
           .places = {"../../etc", "../etc", "../../opt/mpi/etc"},
           .devices = infiniband},
    Recipe{.maker = "mvapich",
           .family = "mpich",
           .says = {"MVAPICH"},
           .libraries = {"libmpi.so.12"},
           .siblings = mpich_siblings,
           .loads = {"libpmi2.so.0", "libpmi.so.0"},
           .places = {"/etc/mvapich2.conf"},
           .devices = infiniband},
    Recipe{.maker = "mpich",
           .family = "mpich",
           .says = {"MPICH"},
           .libraries = {"libmpi.so.12", "libmpich.so.12"},
           .siblings = mpich_siblings,
           .loads = {},
           .places = {},
           .devices = infiniband},
};

const std::array companion_list = {
    Companion{"libucs.so.", {"ucx"}, "UCX_MODULE_DIR"},
    Companion{"libfabric.so.", {"prov", "libfabric"}, "FI_PROVIDER_PATH"},
    Companion{"libhwloc.so.", {"hwloc"}, "HWLOC_PLUGINS_PATH"},
    Companion{"libibverbs.so.", {"libibverbs", "/etc/libibverbs.d"}, ""},
    Companion{"libpmix.so.", {"pmix", "../share/pmix"}, ""},
};

constexpr auto communication = std::to_array<std::string_view>(
    {"libmpi",     "libopen-",   "libmca_common_", "libuc",     "libfabric.", "libhwloc.",  "libpmi",
     "libpals",    "libibverbs", "librdmacm",      "libmlx",    "libefa",     "libpsm",     "libcxi",
     "libxpmem",   "libugni",    "libudreg",       "libalps",   "libwlm_",    "libopamgt.", "libpami",
     "libcollect", "libprrte",   "libhcoll",       "libsharp_", "libmad",     "libumad",    "libibumad"});

// Where modules say that their MPI is.
constexpr auto variables = std::to_array<std::string_view>(
    {"CRAY_MPICH_DIR", "MPICH_DIR", "I_MPI_ROOT", "MPI_ROOT", "MPI_HOME", "OPAL_PREFIX", "EBROOTOPENMPI",
     "EBROOTIMPI", "EBROOTMPICH", "OPENMPI_ROOT", "MVAPICH2_ROOT"});

}  // namespace

std::span<const Recipe> mpi_recipes() {
  return recipes;
}

std::span<const Companion> companions() {
  return companion_list;
}

bool is_communication(std::string_view name) {
  return std::any_of(communication.begin(), communication.end(),
                     [&](std::string_view one) { return name.starts_with(one); });
}

std::vector<std::string> aliases(std::string_view family, std::string_view name) {
  const auto is_c_library = [&] {
    return name.starts_with("libmpi.so.") || name.starts_with("libmpich.so.") ||
           name.starts_with("libmpi_cray.so.") || name.starts_with("libmpi_gnu_") ||
           name.starts_with("libmpi_ibm.so.");
  };
  if (family == "openmpi" && is_c_library()) return {"libmpi.so.40"};
  if (family == "openmpi" && name.starts_with("libmpi_ibm_mpifh.so.")) return {"libmpi_mpifh.so.40"};
  if (family != "mpich") return {};
  if (is_c_library()) return {"libmpi.so.12", "libmpich.so.12"};
  if (name.starts_with("libmpicxx.") || name.starts_with("libmpichcxx."))
    return {"libmpicxx.so.12", "libmpichcxx.so.12"};
  if (name.starts_with("libmpifort.") || name.starts_with("libmpichfort."))
    return {"libmpifort.so.12", "libmpichfort.so.12"};
  return {};
}

std::span<const std::string_view> module_variables() {
  return variables;
}

}  // namespace longship::fit
