// SPDX-License-Identifier: Apache-2.0
// Memory for tensors, handed to a language that does not know who owns it: it stays until it is freed, also
// after a shutdown, because tensors do.
#include "collective/memory.h"

#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "call.h"
#include "longship.h"

namespace {

using namespace longship;
using collective::Memory;

std::mutex owners_mutex;
std::map<void*, std::shared_ptr<Memory>> owners;  // by address

// A rank that is alone on its node shares its memory with nobody; to the caller that makes no difference.
std::shared_ptr<Memory> memory_of_session() {
  const auto current = abi::session();
  if (current->segment() != nullptr) return current->segment()->memory();
  std::vector<Fd> own;
  own.push_back(Memory::create_arena());
  return std::make_shared<Memory>(std::move(own), 0);
}

}  // namespace

void* longship_memory_new(size_t bytes) {
  void* made = nullptr;
  abi::guarded([&]() -> int {
    const auto memory = memory_of_session();
    void* const address = memory->allocate(bytes);
    const std::lock_guard lock(owners_mutex);
    owners[address] = memory;
    made = address;
    return LONGSHIP_OK;
  });
  return made;
}

int longship_memory_free(void* memory) {
  return abi::guarded([&]() -> int {
    const std::lock_guard lock(owners_mutex);
    const auto found = owners.find(memory);
    if (found == owners.end())
      throw Error(Failure::usage, "that is no memory of longship_memory_new, or it was freed before");
    const auto owner = found->second;
    owners.erase(found);
    owner->release(memory);
    return LONGSHIP_OK;
  });
}
