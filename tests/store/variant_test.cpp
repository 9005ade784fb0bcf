// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "store/image.h"

namespace longship::store {
namespace {

struct Claim {
  std::string name;
  std::string error;  // empty: it is true, or says nothing
};

class VariantTest : public testing::TestWithParam<Claim> {};

TEST_P(VariantTest, ATagSaysTrulyWhatIsInTheImage) {
  Image image;
  image.name = GetParam().name;
  image.facts.architecture = "x86_64";
  image.facts.mpi = "mpich 4.0.2";
  image.facts.software.emplace().emplace("cuda", "11.8.1");
  try {
    validate_variant(image);
    EXPECT_EQ(GetParam().error, "");
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              "the image cannot be called " + image.name + ": its tag says " + GetParam().error);
    EXPECT_EQ(error.failure(), Failure::usage);
  }
}

INSTANTIATE_TEST_SUITE_P(Names, VariantTest,
                         testing::Values(Claim{"ring", ""}, Claim{"openmpi", ""}, Claim{"ring:v2", ""},
                                         Claim{"ring:mpich", ""}, Claim{"ring:v2-mpich-x86_64-cuda11.8", ""},
                                         Claim{"ring:cuda11", ""}, Claim{"ring:cuda", ""},
                                         Claim{"ring:cudart", ""}, Claim{"ring:mpichlike", ""},
                                         Claim{"ring:openmpi", "openmpi, but its MPI is mpich 4.0.2"},
                                         Claim{"ring:v2-openmpi", "openmpi, but its MPI is mpich 4.0.2"},
                                         Claim{"ring:aarch64", "aarch64, but it is for x86_64"},
                                         Claim{"ring:cuda12", "cuda12, but its CUDA is 11.8.1"},
                                         Claim{"ring:cuda1", "cuda1, but its CUDA is 11.8.1"}));

TEST(VariantOfNothingTest, WhatWasNotFoundIsNotThere) {
  Image image;
  image.name = "ring:mpich";
  EXPECT_THROW(validate_variant(image), Error);
  image.name = "ring:cuda12";
  EXPECT_NO_THROW(validate_variant(image));  // made by a Longship that did not look for it
  image.facts.software.emplace();
  EXPECT_THROW(validate_variant(image), Error);
}

}  // namespace
}  // namespace longship::store
