// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace longship::collective {
namespace {

int number(std::string_view name, const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    throw Error(Failure::usage, "{}={}: not a number from {} to {}", name, text, least, most);
  return value;
}

int number_or(const Lookup& variable, const char* name, int otherwise, int least, int most) {
  const auto text = variable(name);
  return text ? number(name, *text, least, most) : otherwise;
}

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (error != std::errc{} || end != text.data() + i + 2) break;
    bytes.push_back(static_cast<std::byte>(value));
  }
  if (bytes.size() * 2 != text.size() || bytes.size() < 16)
    throw Error(Failure::usage, "LONGSHIP_SECRET: not at least 32 hexadecimal digits");  // never shown
  return bytes;
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

void read_rendezvous(World& world, const Lookup& variable) {
  const auto where = variable("LONGSHIP_RENDEZVOUS");
  if (!where) throw Error(Failure::usage, "WORLD_SIZE={}, but LONGSHIP_RENDEZVOUS is not set", world.size);
  const auto colon = where->rfind(':');
  if (colon == std::string::npos || colon == 0)
    throw Error(Failure::usage, "LONGSHIP_RENDEZVOUS={}: not HOST:PORT", *where);
  world.host = where->substr(0, colon);
  if (world.host.front() == '[' && world.host.back() == ']')
    world.host = world.host.substr(1, world.host.size() - 2);
  world.port = number("LONGSHIP_RENDEZVOUS", where->substr(colon + 1), 1, 65535);
  const auto secret = variable("LONGSHIP_SECRET");
  if (!secret) throw Error(Failure::usage, "WORLD_SIZE={}, but LONGSHIP_SECRET is not set", world.size);
  world.secret = from_hex(*secret);
  if (world.rank == 0) world.listener = number_or(variable, "LONGSHIP_RENDEZVOUS_FD", -1, 0, 1 << 20);
}

}  // namespace

World world_from(const Lookup& variable) {
  constexpr int most = 1 << 20;
  World world;
  world.size = number_or(variable, "WORLD_SIZE", 1, 1, most);
  world.rank = number_or(variable, "RANK", 0, 0, world.size - 1);
  world.local_size = number_or(variable, "LOCAL_WORLD_SIZE", world.size, 1, world.size);
  world.local_rank =
      number_or(variable, "LOCAL_RANK", world.rank % world.local_size, 0, world.local_size - 1);
  world.patience = std::chrono::seconds(number_or(variable, "LONGSHIP_RENDEZVOUS_TIMEOUT", 60, 1, 86'400));
  for (const char* name : {"LONGSHIP_NODE", "SLURMD_NODENAME"})
    if (world.node.empty()) world.node = variable(name).value_or("");
  if (world.node.empty()) world.node = host_name();
  if (world.size > 1) {
    if (!variable("RANK")) throw Error(Failure::usage, "WORLD_SIZE={}, but RANK is not set", world.size);
    read_rendezvous(world, variable);
  }
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
