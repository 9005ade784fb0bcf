// SPDX-License-Identifier: Apache-2.0
// Each recipe against a tree of files as that maker installs them.
#include "fit/host_mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "fit/elf_fixture.h"

namespace longship::fit {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

class HostMpiTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& content = "") {
    const auto place = directory_.path() / path.substr(1);
    fs::create_directories(place.parent_path());
    write_file(place, content);
  }
  void library(const std::string& path, const ElfFixture& fixture = {}) { file(path, make_elf(fixture)); }
  void link(const std::string& path, const std::string& target) {
    const auto place = directory_.path() / path.substr(1);
    fs::create_directories(place.parent_path());
    fs::create_symlink(target, place);
  }
  [[nodiscard]] Closure closure(const std::string& path, const Environment& environment = {}) const {
    return host_mpi(tree_, path, environment);
  }
  [[nodiscard]] std::string error_of(const Closure& closure, const ImageFacts& image) const {
    try {
      (void)fitted(closure, image);
    } catch (const Error& error) {
      EXPECT_EQ(error.failure(), Failure::impossible);
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  FileTree tree_{directory_.path()};
};

std::vector<std::string> names(const std::vector<HostLibrary>& libraries) {
  std::vector<std::string> names;
  for (const auto& library : libraries) names.push_back(library.name);
  return names;
}

ImageFacts image(std::string mpi, Version glibc = Version(2, 36)) {
  ImageFacts facts;
  facts.mpi = std::move(mpi);
  facts.glibc = std::move(glibc);
  facts.looked_for_software = true;
  return facts;
}

TEST_F(HostMpiTest, MpichComesWithWhatItNeedsUnderAllNamesOfItsAbi) {
  file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  file("/etc/ld.so.conf.d/arch.conf", "# multiarch\n/usr/lib/arch\n");
  library("/usr/lib/arch/libmpich.so.12.2.2", {.soname = "libmpich.so.12",
                                               .needed = {"libucp.so.0", "libz.so.1", "libc.so.6"},
                                               .wants = {"GLIBC_2.34"},
                                               .strings = "MPICH Version"});
  link("/usr/lib/arch/libmpich.so.12", "libmpich.so.12.2.2");
  library("/usr/lib/arch/libmpichcxx.so.12", {.soname = "libmpichcxx.so.12", .needed = {"libmpich.so.12"}});
  library("/usr/lib/arch/libucp.so.0", {.needed = {"libucs.so.0"}});
  library("/usr/lib/arch/libucs.so.0");
  library("/usr/lib/arch/libz.so.1");
  library("/usr/lib/arch/libc.so.6", {.wants = {"GLIBC_2.99"}});
  library("/usr/lib/arch/ucx/libuct_ib.so.0", {.needed = {"libibverbs.so.1", "libgone.so.1"}});
  library("/usr/lib/arch/libibverbs.so.1");
  library("/usr/lib/arch/libibverbs/libmlx5-rdmav34.so", {.needed = {"libmlx5.so.1"}});
  library("/usr/lib/arch/libmlx5.so.1");
  file("/etc/libibverbs.d/mlx5.driver", "driver mlx5\n");
  file("/dev/infiniband/uverbs0");
  file("/dev/null");

  const auto path = find_host_mpi(tree_, {}, "mpich");
  ASSERT_EQ(path, "/usr/lib/arch/libmpich.so.12");
  EXPECT_FALSE(find_host_mpi(tree_, {}, "openmpi"));
  const auto found = closure(*path);
  EXPECT_EQ(found.maker, "mpich");
  EXPECT_EQ(found.family, "mpich");
  EXPECT_THAT(names(found.libraries),
              UnorderedElementsAre("libmpich.so.12", "libmpi.so.12", "libmpichcxx.so.12", "libmpicxx.so.12",
                                   "libucp.so.0", "libucs.so.0", "libibverbs.so.1", "libmlx5.so.1"));
  EXPECT_THAT(names(found.others), ElementsAre("libz.so.1"));
  EXPECT_THAT(found.places,
              UnorderedElementsAre("/usr/lib/arch/ucx", "/usr/lib/arch/libibverbs", "/etc/libibverbs.d"));
  EXPECT_THAT(found.environment, ElementsAre(Pair("UCX_MODULE_DIR", "/usr/lib/arch/ucx")));
  EXPECT_THAT(found.devices, ElementsAre("/dev/infiniband"));
  EXPECT_THAT(found.missing, ElementsAre("libgone.so.1"));
  EXPECT_EQ(found.libraries.at(1).name, "libmpi.so.12");
  EXPECT_EQ(found.libraries.at(1).path, "/usr/lib/arch/libmpich.so.12.2.2");
  EXPECT_EQ(wanted_of(found)->glibc, Version(2, 34));
}

TEST_F(HostMpiTest, CrayMpichComesWithItsLibfabricAndPmi) {
  const std::string lib = "/opt/cray/pe/mpich/8.1.4/ofi/gnu/9.1/lib-abi-mpich";
  library(lib + "/libmpi.so.12", {.soname = "libmpi.so.12",
                                  .needed = {"libfabric.so.1"},
                                  .strings = "CRAY MPICH version 8.1.4 (ANL base 3.4a2) MPICH"});
  library("/opt/cray/libfabric/1.11/lib64/libfabric.so.1", {.needed = {"libcxi.so.1"}});
  library("/opt/cray/pe/pmi/lib/libpmi.so.0");
  library("/usr/lib64/libcxi.so.1");
  file("/etc/opt/cray/release/cle-release", "RELEASE=");
  file("/dev/cxi0");
  const Environment environment = {
      {"CRAY_MPICH_DIR", "/opt/cray/pe/mpich/8.1.4/ofi/gnu/9.1"},
      {"LD_LIBRARY_PATH", "/opt/cray/libfabric/1.11/lib64:/opt/cray/pe/pmi/lib"}};
  const auto path = find_host_mpi(tree_, environment, "mpich");
  ASSERT_EQ(path, lib + "/libmpi.so.12");
  const auto found = closure(*path, environment);
  EXPECT_EQ(found.maker, "cray-mpich");
  EXPECT_THAT(names(found.libraries), UnorderedElementsAre("libmpi.so.12", "libmpich.so.12", "libfabric.so.1",
                                                           "libcxi.so.1", "libpmi.so.0"));
  EXPECT_THAT(found.places, ElementsAre("/etc/opt/cray"));
  EXPECT_THAT(found.devices, ElementsAre("/dev/cxi0"));
}

TEST_F(HostMpiTest, IntelMpiComesWithTheLibfabricThatItOpensByName) {
  const std::string root = "/opt/intel/oneapi/mpi/2021.9.0";
  library(root + "/lib/release/libmpi.so.12.0.0",
          {.soname = "libmpi.so.12", .strings = "Intel(R) MPI Library 2021.9 for Linux* OS MPICH"});
  link(root + "/lib/release/libmpi.so.12", "libmpi.so.12.0.0");
  library(root + "/libfabric/lib/libfabric.so.1");
  library(root + "/libfabric/lib/prov/libtcp-fi.so");
  file(root + "/etc/tuning_skx_shm-ofi.dat");
  const Environment environment = {{"I_MPI_ROOT", root}};
  const auto path = find_host_mpi(tree_, environment, "mpich");
  ASSERT_EQ(path, root + "/lib/release/libmpi.so.12");
  const auto found = closure(*path, environment);
  EXPECT_EQ(found.maker, "intel-mpi");
  EXPECT_THAT(names(found.libraries),
              UnorderedElementsAre("libmpi.so.12", "libmpich.so.12", "libfabric.so.1"));
  EXPECT_THAT(found.places, UnorderedElementsAre(root + "/etc", root + "/libfabric/lib/prov"));
  EXPECT_THAT(found.environment, ElementsAre(Pair("FI_PROVIDER_PATH", root + "/libfabric/lib/prov")));
}

TEST_F(HostMpiTest, MvapichComesWithItsSettings) {
  library("/opt/mvapich2/lib/libmpi.so.12",
          {.needed = {"libibumad.so.3"}, .strings = "MVAPICH2 Version MPICH"});
  library("/lib64/libibumad.so.3");
  file("/etc/mvapich2.conf", "MV2_ENABLE_AFFINITY=0\n");
  file("/dev/knem");
  const auto found = closure("/opt/mvapich2/lib/libmpi.so.12");
  EXPECT_EQ(found.maker, "mvapich");
  EXPECT_THAT(names(found.libraries),
              UnorderedElementsAre("libmpi.so.12", "libmpich.so.12", "libibumad.so.3"));
  EXPECT_THAT(found.places, ElementsAre("/etc/mvapich2.conf"));
  EXPECT_THAT(found.devices, ElementsAre("/dev/knem"));
}

TEST_F(HostMpiTest, OpenMpiComesWithItsComponentsAndWhatTheyNeed) {
  library("/opt/ompi/lib/libmpi.so.40.30.4", {.soname = "libmpi.so.40",
                                              .needed = {"libopen-pal.so.40", "libhwloc.so.15"},
                                              .runpath = "$ORIGIN",
                                              .strings = "Open MPI v4.1.4"});
  link("/opt/ompi/lib/libmpi.so.40", "libmpi.so.40.30.4");
  library("/opt/ompi/lib/libmpi_mpifh.so.40", {.needed = {"libgfortran.so.5"}});
  library("/opt/ompi/lib/libopen-pal.so.40");
  library("/opt/ompi/lib/openmpi/mca_pml_ucx.so", {.needed = {"libucp.so.0"}});
  file("/opt/ompi/share/openmpi/help-mpi.txt");
  file("/opt/ompi/etc/openmpi-mca-params.conf");
  library("/usr/lib64/libhwloc.so.15");
  library("/usr/lib64/libucp.so.0", {.needed = {"libstdc++.so.6"}, .wants = {"GLIBCXX_3.4.21"}});
  library("/usr/lib64/libstdc++.so.6", {.needed = {"libgcc_s.so.1"}});
  library("/usr/lib64/libgcc_s.so.1");
  library("/usr/lib64/libgfortran.so.5");
  const auto path = find_host_mpi(tree_, {{"MPI_HOME", "/opt/ompi"}}, "openmpi");
  ASSERT_EQ(path, "/opt/ompi/lib/libmpi.so.40");
  const auto found = closure(*path);
  EXPECT_EQ(found.maker, "openmpi");
  EXPECT_THAT(names(found.libraries),
              UnorderedElementsAre("libmpi.so.40", "libmpi_mpifh.so.40", "libopen-pal.so.40",
                                   "libhwloc.so.15", "libucp.so.0"));
  EXPECT_THAT(found.places, UnorderedElementsAre("/opt/ompi/lib/openmpi", "/opt/ompi/share/openmpi",
                                                 "/opt/ompi/etc/openmpi-mca-params.conf"));

  // The image's libstdc++ is new enough: the host's stays outside, and so do other compilers' libraries.
  auto facts = image("openmpi 4.1.0");
  facts.libstdcxx = Version(3, 4, 30);
  EXPECT_THAT(names(fitted(found, facts).libraries), Not(Contains("libstdc++.so.6")));
  EXPECT_THAT(fitted(found, facts).others, IsEmpty());
  facts.libstdcxx = Version(3, 4, 19);  // older than it wants: then the host's, which is newer, is let in
  EXPECT_THAT(names(fitted(found, facts).libraries), IsSupersetOf({"libstdc++.so.6", "libgcc_s.so.1"}));
  facts.libstdcxx.reset();
  EXPECT_THAT(names(fitted(found, facts).libraries), Contains("libstdc++.so.6"));
  facts.looked_for_software = false;  // an old record: it may have a newer one
  EXPECT_THAT(names(fitted(found, facts).libraries), Not(Contains("libstdc++.so.6")));
}

TEST_F(HostMpiTest, SpectrumMpiTakesThePlaceOfOpenMpi) {
  const std::string root = "/opt/ibm/spectrum_mpi";
  library(root + "/lib/libmpi_ibm.so.3",
          {.soname = "libmpi_ibm.so.3", .strings = "IBM Spectrum MPI Open MPI"});
  library(root + "/lib/libmpi_ibm_mpifh.so.3");
  library(root + "/lib/libpami.so.3");
  library(root + "/lib/spectrum_mpi/mca_pml_pami.so");
  file(root + "/share/spectrum_mpi/help.txt");
  file(root + "/etc/smpi.conf");
  const auto path = find_host_mpi(tree_, {{"MPI_ROOT", root}}, "openmpi");
  ASSERT_EQ(path, root + "/lib/libmpi_ibm.so.3");
  const auto found = closure(*path);
  EXPECT_EQ(found.maker, "spectrum-mpi");
  EXPECT_THAT(names(found.libraries),
              UnorderedElementsAre("libmpi_ibm.so.3", "libmpi.so.40", "libmpi_ibm_mpifh.so.3",
                                   "libmpi_mpifh.so.40", "libpami.so.3"));
  EXPECT_THAT(found.places,
              UnorderedElementsAre(root + "/lib/spectrum_mpi", root + "/share/spectrum_mpi", root + "/etc"));
}

TEST_F(HostMpiTest, AnImageWithAnOlderGlibcIsRefusedWithTheSymbol) {
  library("/usr/lib/libmpi.so.12",
          {.needed = {"libhwloc.so.15"}, .wants = {"GLIBC_2.28"}, .strings = "MPICH"});
  library("/usr/lib/libhwloc.so.15", {.wants = {"GLIBC_2.2.5", "GLIBC_2.34"}});
  const auto found = closure("/usr/lib/libmpi.so.12");
  EXPECT_THAT(error_of(found, image("mpich 3.4", Version(2, 31))),
              HasSubstr("its libhwloc.so.15 wants GLIBC_2.34, and the image has glibc 2.31"));
  EXPECT_EQ(error_of(found, image("mpich 3.4", Version(2, 34))), "no error");
}

TEST_F(HostMpiTest, AnImageWithoutGlibcIsRefused) {
  library("/usr/lib/libmpi.so.12", {.wants = {"GLIBC_2.28"}, .strings = "MPICH"});
  const auto found = closure("/usr/lib/libmpi.so.12");
  auto facts = image("mpich 3.4");
  facts.glibc.reset();
  EXPECT_THAT(error_of(found, facts), HasSubstr("wants GLIBC_2.28, and the image has no glibc"));
  facts.looked_for_software = false;  // nothing is known of it
  EXPECT_EQ(error_of(found, facts), "no error");
}

TEST_F(HostMpiTest, AHostsLibstdcxxThatWantsANewerGlibcIsRefusedToo) {
  library("/usr/lib/libmpi.so.12",
          {.needed = {"libstdc++.so.6"}, .wants = {"GLIBC_2.17", "GLIBCXX_3.4.29"}, .strings = "MPICH"});
  library("/usr/lib/libstdc++.so.6", {.wants = {"GLIBC_2.36"}});
  auto facts = image("mpich 3.4", Version(2, 31));
  facts.libstdcxx = Version(3, 4, 28);
  EXPECT_THAT(error_of(closure("/usr/lib/libmpi.so.12"), facts),
              HasSubstr("its libstdc++.so.6 wants GLIBC_2.36, and the image has glibc 2.31"));
  facts.libstdcxx = Version(3, 4, 29);
  EXPECT_EQ(error_of(closure("/usr/lib/libmpi.so.12"), facts), "no error");
}

TEST_F(HostMpiTest, AnImageOfTheOtherFamilyIsRefused) {
  library("/usr/lib/libmpi.so.12", {.strings = "MPICH"});
  EXPECT_THAT(error_of(closure("/usr/lib/libmpi.so.12"), image("openmpi 4.1.4")),
              HasSubstr("the image has Open MPI, the MPI of this host is MPICH"));
}

TEST_F(HostMpiTest, WhatIsNoMpiIsSaid) {
  library("/usr/lib/libother.so.1");
  file("/usr/lib/libmpi.so.12", "MPICH, but a text");
  link("/usr/lib/libmpi.so.40", "libmpi.so.40");
  EXPECT_THROW((void)closure("/usr/lib/libother.so.1"), Error);
  EXPECT_THROW((void)closure("/usr/lib/libmpi.so.12"), Error);
  EXPECT_THROW((void)closure("/usr/lib/libmpi.so.40"), Error);
  EXPECT_FALSE(find_host_mpi(tree_, {}, "openmpi"));
}

TEST_F(HostMpiTest, DirectoriesThatHoldMoreThanThisMpiAreNotTaken) {
  library("/usr/lib/libmpi.so.12", {.strings = "Intel(R) MPI Library"});  // its ../etc would be /usr/etc
  file("/usr/etc/other.conf");
  file("/etc/passwd");
  EXPECT_THAT(closure("/usr/lib/libmpi.so.12").places, IsEmpty());
}

TEST_F(HostMpiTest, AnImageInADirectoryIsLookedAt) {
  library("/lib/libc.so.6", {.has = {"GLIBC_2.2.5", "GLIBC_2.31", "GLIBC_PRIVATE"}});
  library("/lib/libmpich.so.12", {.strings = "MPICH"});
  const auto facts = facts_of_tree(tree_);
  EXPECT_EQ(facts.glibc, Version(2, 31));
  EXPECT_EQ(facts.mpi, "mpich");
  EXPECT_FALSE(facts.libstdcxx);
  EXPECT_EQ(facts.architecture, "x86_64");
}

}  // namespace
}  // namespace longship::fit
