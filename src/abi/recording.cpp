// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "collective/world.h"

namespace longship::abi {

Recording::~Recording() {
  close();
}

bool Recording::is_ours() const {
  return process_ == ::getpid();
}

record::Writer* Recording::writer() noexcept {
  try {
    if (process_ == 0) open();
  } catch (const std::exception&) {  // init() would say what is wrong with the environment
  }
  return is_ours() ? writer_.get() : nullptr;
}

void Recording::open() {
  process_ = ::getpid();  // whatever comes of it: it is not tried again at every step
  const char* const directory = std::getenv("LONGSHIP_RECORD");
  if (directory == nullptr || *directory == '\0' || directory == given_up_) return;
  const auto world = collective::world_from_environment();
  if (record::Writer::is_taken(directory, world.rank)) return;  // we are a helper of the process that trains
  writer_ = record::Writer::open(directory, {world.rank, world.size, world.local_rank, world.node});
}

void Recording::give_up(const std::string& directory) {
  close();
  given_up_ = directory;
}

void Recording::close() noexcept {
  if (!is_ours()) (void)writer_.release();  // its destructor would write what the parent has to write
  writer_.reset();
  process_ = 0;
}

}  // namespace longship::abi
