// SPDX-License-Identifier: Apache-2.0
#include "image/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/elf_fixture.h"

namespace longship::image {
namespace {

using namespace std::string_literals;

store::Facts facts_of(std::string_view path, const std::string& content) {
  FactFinder finder;
  finder.look(path, content);
  return finder.found();
}

std::string library(const std::string& strings, const std::string& soname = "") {
  return fit::make_elf({.soname = soname, .strings = strings});
}

std::string mpi_of(std::string_view path, const std::string& strings) {
  return facts_of(path, library(strings)).mpi;
}

TEST(Facts, TheFamilyAndVersionOfAnMpiAreInItsLibrary) {
  EXPECT_EQ(
      mpi_of("usr/lib/libmpi.so.40.30.4", "\0tells 4.1.4 to dump\0v4.1.4\0Open MPI\0Open MPI v%d.%d.%d\0"s),
      "openmpi 4.1.4");
  EXPECT_EQ(mpi_of("usr/lib/libmpich.so.12.2.2",
                   "\0MPICH Version:\t%s\n\0"
                   "14:2:2\0"
                   "4.0.2\0"s),
            "mpich 4.0.2");
  EXPECT_EQ(
      mpi_of("usr/lib/libmpich.so.12.4.1", "\0MPICH\0"s + "0.13.99\0json_object.c"s + std::string(999, '\0') +
                                               "16:1:4\0\0Wed Apr 17 15:30:02 CDT 2024\0"s + "4.2.1\0"s),
      "mpich 4.2.1");  // the first is json-c's
  EXPECT_EQ(mpi_of("opt/intel/libmpi.so.12.0.0", "\0Intel(R) MPI Library\0"s), "mpich");  // the same ABI
}

TEST(Facts, WhatOnlyHasTheNameOfAnMpiIsNone) {
  EXPECT_EQ(mpi_of("usr/lib/libmpi.so.9", "\0something else\0"s), "");
  FactFinder finder;
  finder.look("usr/lib/libmpi.so.40", "no ELF file: Open MPI");
  EXPECT_EQ(finder.found().mpi, "");
}

TEST(Facts, TheFirstMpiThatIsFoundCounts) {
  FactFinder finder;
  finder.look("a/libmpi.so.40", library("\0Open MPI\0"s));
  finder.look("b/libmpich.so.12", library("\0MPICH\0"s));
  EXPECT_EQ(finder.found().mpi, "openmpi");
}

TEST(Facts, AnMpiIsKnownByItsAbiAndItsMaker) {
  const auto intel = facts_of("opt/intel/libmpi.so.12.0.0",
                              library("\0Intel(R) MPI Library 2021.5 for Linux\0"s, "libmpi.so.12"));
  EXPECT_EQ(intel.software->at("mpi-abi"), "libmpi.so.12");
  EXPECT_EQ(intel.software->at("intel-mpi"), "2021.5");
  const auto cray = facts_of("opt/cray/libmpi.so.12", library("\0CRAY MPICH version 8.1.4 (ANL)\0"s));
  EXPECT_EQ(cray.mpi.substr(0, 5), "mpich");
  EXPECT_EQ(cray.software->at("cray-mpich"), "8.1.4");
}

struct Told {
  const char* path;
  std::string content;
  const char* what;
  const char* version;
};

TEST(Facts, SoftwareIsKnownByPathsAndContents) {
  const std::vector<Told> all = {
      {"usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
       fit::make_elf({.soname = "libstdc++.so.6", .has = {"GLIBCXX_3.4", "GLIBCXX_3.4.30", "CXXABI_1.3"}}),
       "libstdc++", "3.4.30"},
      {"usr/lib/libpmix.so.2.6.2", library("\0OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2)\0"s), "pmix", "4.2.2"},
      {"usr/lib/libpmi2.so.0.0.0", library(""), "pmi2", "0.0.0"},
      {"usr/local/cuda-11.8/version.json", R"({"cuda": {"name": "CUDA SDK", "version": "11.8.20220929"}})",
       "cuda", "11.8"},
      {"usr/local/cuda/version.txt", "CUDA Version 10.2.89\n", "cuda", "10.2.89"},
      {"usr/local/cuda/lib64/libcudart.so.11.8.89", library(""), "cuda", "11.8.89"},
      {"torch/lib/libcudart-d0da41ae.so.11.0", library(""), "cuda", "11"},
      {"site-packages/nvidia_cuda_runtime_cu12-12.1.105.dist-info/METADATA", "", "cuda", "12.1.105"},
      {"site-packages/nvidia_cudnn_cu12-8.9.2.26.dist-info/METADATA", "", "cudnn", "8.9.2.26"},
      {"usr/lib/libcudnn.so.8.6.0", library(""), "cudnn", "8.6.0"},
      {"usr/bin/python3.11", library("\0at 3.11.2\0"s + "3.11.x\0"s + "3.11.2\0"s), "python", "3.11.2"},
      {"usr/bin/python3.9", library("\0nothing\0"s), "python", "3.9"},
      {"usr/lib/python3/dist-packages/torch-1.13.1.dist-info/METADATA", "", "torch", "1.13.1"},
      {"usr/lib/python3/dist-packages/mpi4py-3.1.4.egg-info/PKG-INFO", "", "mpi4py", "3.1.4"},
      {"lib/python2.7/numpy-1.16.2-py2.7.egg-info", "", "numpy", "1.16.2"},
      {"site-packages/tensorflow_cpu-2.15.0.dist-info/METADATA", "", "tensorflow", "2.15.0"},
  };
  for (const auto& told : all) {
    Member member;
    member.path = told.path;
    member.size = told.content.size();
    EXPECT_TRUE(FactFinder::wants(member)) << told.path;
    const auto software = *facts_of(told.path, told.content).software;
    EXPECT_THAT(software, testing::Contains(testing::Pair(told.what, told.version))) << told.path;
  }
}

TEST(Facts, WhatTellsNothingIsNotRead) {
  for (const char* path : {"usr/lib/libpmixture.so.1", "usr/bin/python3-config", "usr/bin/python3.11-config",
                           "site-packages/torchvision-0.15.dist-info/METADATA", "share/version.txt",
                           "usr/lib/libstdc++.a", "site-packages/torch-1.13.1.dist-info/RECORD"}) {
    Member member;
    member.path = path;
    EXPECT_FALSE(FactFinder::wants(member)) << path;
  }
}

TEST(Facts, TheMoreExactVersionStays) {
  FactFinder finder;
  finder.look("torch/lib/libcudart-d0da41ae.so.11.0", library(""));
  finder.look("usr/local/cuda/lib64/libcudart.so.11.8.89", library(""));
  finder.look("other/libcudart.so.10.2.89", library(""));
  EXPECT_EQ(finder.found().software->at("cuda"), "11.8.89");
}

}  // namespace
}  // namespace longship::image
