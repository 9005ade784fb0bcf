// SPDX-License-Identifier: Apache-2.0
#include "box/host_mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace longship::box {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

fit::Closure sample() {
  fit::Closure closure;
  closure.libraries = {{"libmpi.so.12", "/opt/mpi/lib/libmpi.so.12.1"}};
  closure.others = {{"libz.so.1", "/usr/lib/libz.so.1.2.13"}};
  closure.places = {"/usr/lib/ucx"};
  closure.environment = {{"UCX_MODULE_DIR", "/usr/lib/ucx"}};
  return closure;
}

TEST(HostMpiInABox, LibrariesGetPlacesOfTheirOwnAndPlugInsKeepTheirs) {
  Spec spec;
  Environment chosen;
  detail::add_closure(sample(), {}, spec, chosen);
  ASSERT_EQ(spec.binds.size(), 3u);
  EXPECT_EQ(spec.binds[0].from, "/opt/mpi/lib/libmpi.so.12.1");
  EXPECT_EQ(spec.binds[0].to, "/opt/longship-host/mpi/lib/libmpi.so.12");
  EXPECT_EQ(spec.binds[1].to, "/opt/longship-host/mpi/other/libz.so.1");
  EXPECT_EQ(spec.binds[2].to, "/usr/lib/ucx");
  for (const auto& bind : spec.binds) EXPECT_TRUE(bind.read_only) << bind.to;
  EXPECT_EQ(chosen.at("UCX_MODULE_DIR"), "/usr/lib/ucx");
}

TEST(HostMpiInABox, TheHostsMpiIsFoundFirstAndItsOtherLibrariesLast) {
  Spec spec;
  Environment chosen;
  detail::add_closure(sample(), {{"LD_LIBRARY_PATH", "/usr/local/cuda/lib64"}}, spec, chosen);
  const auto path = chosen.at("LD_LIBRARY_PATH");
  EXPECT_THAT(path, StartsWith("/opt/longship-host/mpi/lib:/usr/local/cuda/lib64:/usr/local/lib:"));
  EXPECT_THAT(path, testing::EndsWith(":/usr/lib:/opt/longship-host/mpi/other"));
}

TEST(HostMpiInABox, WhatTheUserSetsStays) {
  Spec spec;
  Environment chosen = {{"UCX_MODULE_DIR", "/mine"}, {"LD_LIBRARY_PATH", "/own"}};
  auto closure = sample();
  closure.others.clear();
  detail::add_closure(closure, {{"LD_LIBRARY_PATH", "/image"}}, spec, chosen);
  EXPECT_EQ(chosen.at("UCX_MODULE_DIR"), "/mine");
  EXPECT_EQ(chosen.at("LD_LIBRARY_PATH"), "/opt/longship-host/mpi/lib:/own");
}

TEST(HostMpiInABox, ASiteSaysByItsEnvironmentWhoseMpiIsUsed) {
  EXPECT_EQ(mpi_of_site({}), "image");
  EXPECT_EQ(mpi_of_site({{"LONGSHIP_MPI", ""}}), "image");
  EXPECT_EQ(mpi_of_site({{"LONGSHIP_MPI", "host"}}), "host");
  EXPECT_EQ(mpi_of_site({{"LONGSHIP_MPI", "/opt/libmpi.so.12"}}), "/opt/libmpi.so.12");
  EXPECT_THROW((void)mpi_of_site({{"LONGSHIP_MPI", "hosts"}}), Error);
}

std::string error_with(const fit::ImageFacts& facts) {
  Spec spec;
  Environment chosen;
  try {
    let_in_host_mpi("host", facts, {}, spec, chosen);
  } catch (const Error& error) {
    EXPECT_EQ(error.failure(), Failure::impossible);
    return error.what();
  }
  return "no error";
}

TEST(HostMpiInABox, WithoutAnMpiInTheImageThereIsNothingToReplace) {
  fit::ImageFacts facts;
  EXPECT_THAT(error_with(facts), HasSubstr("which MPI is in the image is not known: give it a name"));
  facts.looked_for_software = true;
  EXPECT_THAT(error_with(facts), HasSubstr("no MPI was found in the image"));
}

}  // namespace
}  // namespace longship::box
