// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "hex.h"
#include "mpi_library.h"

namespace longship::collective {
namespace {

int number_or(const Lookup& variable, const char* name, int otherwise, int least, int most) {
  const auto text = variable(name);
  return text ? number_of(name, *text, least, most) : otherwise;
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

void read_address(World& world, const std::string& where) {
  const auto colon = where.rfind(':');
  if (colon == std::string::npos || colon == 0)
    throw Error(Failure::usage, "LONGSHIP_RENDEZVOUS={}: not HOST:PORT", where);
  world.host = where.substr(0, colon);
  if (world.host.front() == '[' && world.host.back() == ']')
    world.host = world.host.substr(1, world.host.size() - 2);
  world.port = number_of("LONGSHIP_RENDEZVOUS", where.substr(colon + 1), 1, 65535);
}

void read_secret(World& world, const Lookup& variable) {
  const auto secret = variable("LONGSHIP_SECRET");
  if (!secret)
    throw Error(Failure::usage, "rank {} of {}: LONGSHIP_SECRET is not set", world.rank, world.size);
  auto bytes = from_hex(*secret);
  if (!bytes || bytes->size() < 16)
    throw Error(Failure::usage, "LONGSHIP_SECRET: not at least 32 hexadecimal digits");  // never shown
  world.secret = std::move(*bytes);
}

// All ranks of a node see its $TMPDIR; ranks of several nodes see the same home, as a rule.
std::filesystem::path meeting_directory(const World& world, const Lookup& variable) {
  if (const auto named = variable("LONGSHIP_RENDEZVOUS_DIR")) return *named;
  if (world.one_node)
    return std::filesystem::path(variable("TMPDIR").value_or("/tmp")) /
           fmt::format("longship-{}", ::geteuid());
  if (const auto home = variable("HOME")) return std::filesystem::path(*home) / ".longship" / "rendezvous";
  throw Error(Failure::usage, "rank {} of {}: set LONGSHIP_RENDEZVOUS_DIR to a directory that all nodes see",
              world.rank, world.size);
}

std::string as_file_name(std::string name) {
  for (char& letter : name)
    if (letter == '/' || letter == '\0') letter = '-';
  return name + ".meet";
}

// In this order: what a launcher or a person says, MASTER_ADDR with a secret, a file.
void read_rendezvous(World& world, const Launched& launched, const Lookup& variable) {
  if (const auto where = variable("LONGSHIP_RENDEZVOUS")) {
    read_address(world, *where);
    read_secret(world, variable);
    if (world.rank == 0) world.listener = number_or(variable, "LONGSHIP_RENDEZVOUS_FD", -1, 0, 1 << 20);
    return;
  }
  // torchrun itself listens at MASTER_PORT.
  const auto host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (host && port && variable("LONGSHIP_SECRET") && launched.by != Launcher::torchrun) {
    world.host = *host;
    world.port = number_of("MASTER_PORT", *port, 1, 65535);
    read_secret(world, variable);
    return;
  }
  if (launched.job.empty())
    throw Error(Failure::usage,
                "rank {} of {} does not know where to meet the others: set LONGSHIP_RENDEZVOUS=HOST:PORT and "
                "LONGSHIP_SECRET, or use longship launch, srun, mpirun or torchrun",
                world.rank, world.size);
  world.meeting_file = meeting_directory(world, variable) / as_file_name(launched.job);
}

// MPICH's mpiexec tells its ranks nothing that only they know, but on one node they descend from one process.
std::string descent_from(std::string_view ancestor) {
  for (pid_t process = ::getppid(); process > 1;) {
    std::ifstream status(fmt::format("/proc/{}/stat", process));
    std::string number, name, state;
    pid_t parent = 0;
    if (!(status >> number >> name >> state >> parent)) break;
    if (name == fmt::format("({})", ancestor)) return fmt::format("{}-{}", ancestor, process);
    process = parent;
  }
  return {};
}

}  // namespace

World world_from(const Lookup& variable) {
  if (wants_mpi(variable)) {
    World world;
    world.mpi = mpi_file(mpi_family(variable));
    world.node = variable("LONGSHIP_NODE").value_or(host_name());
    return world;
  }
  Launched launched = launched_by(variable);
  if (launched.by == Launcher::mpiexec && launched.one_node)
    if (auto common = descent_from("hydra_pmi_proxy"); !common.empty()) launched.job = std::move(common);
  World world;
  world.size = launched.size;
  world.rank = launched.rank;
  world.local_size = launched.local_size.value_or(launched.size);
  world.local_rank = launched.local_rank.value_or(launched.rank % world.local_size);
  world.one_node = launched.one_node;
  world.link_timeout = std::chrono::seconds(number_or(variable, "LONGSHIP_LINK_TIMEOUT", 30, 1, 86'400));
  world.sockets = number_or(variable, "LONGSHIP_SOCKETS", 1, 1, 16);
  world.patience = std::chrono::seconds(number_or(variable, "LONGSHIP_RENDEZVOUS_TIMEOUT", 60, 1, 86'400));
  world.node = variable("LONGSHIP_NODE").value_or(launched.node);
  if (world.node.empty()) world.node = host_name();
  if (world.size > 1) read_rendezvous(world, launched, variable);
  return world;
}

World world_from_environment() {
  return world_from([](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return {};
    return value;
  });
}

}  // namespace longship::collective
