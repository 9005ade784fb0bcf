// SPDX-License-Identifier: Apache-2.0
#include "image/facts.h"

#include <gtest/gtest.h>

namespace longship::image {
namespace {

using namespace std::string_literals;

std::string mpi_of(std::string_view path, const std::string& strings) {
  FactFinder finder;
  finder.look(path,
              "\x7f"
              "ELF" +
                  strings);
  return finder.found().mpi;
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
  finder.look("a/libmpi.so.40",
              "\x7f"
              "ELF\0Open MPI\0"s);
  finder.look("b/libmpich.so.12",
              "\x7f"
              "ELF\0MPICH\0"s);
  EXPECT_EQ(finder.found().mpi, "openmpi");
}

}  // namespace
}  // namespace longship::image
