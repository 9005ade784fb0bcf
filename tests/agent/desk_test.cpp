// SPDX-License-Identifier: Apache-2.0
#include "agent/desk.h"

#include <gtest/gtest.h>

namespace longship::agent {
namespace {

batch::Pilot pilot_of(const std::string& more) {
  const auto site = site::parse(
      "version = 1\nname = \"lake\"\nbatch = \"local\"\nspool = \"/spool\"\n[node]\narch = \"x86_64\"\n"
      "cores = 4\n" +
          more,
      "site.toml");
  Made made;
  made.pilot = "p1";
  made.shape.queue = "local";
  return request_of(site, made, "/opt/longship/bin/longship", "/spool/pilots/p1");
}

TEST(PilotRequest, WhereTheSiteLetsItsMpiInThePilotIsTold) {
  EXPECT_FALSE(pilot_of("").environment.contains("LONGSHIP_MPI"));
  EXPECT_FALSE(pilot_of("[host.mpi]\nfamily = \"mpich\"\n").environment.contains("LONGSHIP_MPI"));
  EXPECT_EQ(pilot_of("[host.mpi]\nfamily = \"mpich\"\nlet_in = true\n").environment.at("LONGSHIP_MPI"),
            "host");
  EXPECT_EQ(pilot_of("[host.mpi]\nfamily = \"mpich\"\nlibrary = \"/opt/libmpi.so.12\"\nlet_in = true\n")
                .environment.at("LONGSHIP_MPI"),
            "/opt/libmpi.so.12");
}

}  // namespace
}  // namespace longship::agent
