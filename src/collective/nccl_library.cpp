// SPDX-License-Identifier: Apache-2.0
#include "nccl_library.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace longship::collective {
namespace {

template <class Function>
void find(void* library, const std::string& file, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw Error("{}: not NCCL 2.10 or later: it has no {}", file, name);
}

}  // namespace

NcclLibrary::NcclLibrary(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(
        "tensors in a GPU's memory need NCCL, which cannot be loaded: {}; install it, let it into the box, "
        "or "
        "name it in LONGSHIP_NCCL",
        ::dlerror());
  find(library, file, "ncclGetUniqueId", calls_.get_unique_id);
  find(library, file, "ncclCommInitRank", calls_.comm_init_rank);
  find(library, file, "ncclCommDestroy", calls_.comm_destroy);
  find(library, file, "ncclCommAbort", calls_.comm_abort);
  find(library, file, "ncclAllReduce", calls_.all_reduce);
  find(library, file, "ncclBroadcast", calls_.broadcast);
  find(library, file, "ncclReduceScatter", calls_.reduce_scatter);
  find(library, file, "ncclAllGather", calls_.all_gather);
  find(library, file, "ncclSend", calls_.send);
  find(library, file, "ncclRecv", calls_.receive);
  find(library, file, "ncclGroupStart", calls_.group_start);
  find(library, file, "ncclGroupEnd", calls_.group_end);
  find(library, file, "ncclGetErrorString", calls_.error_text);
}

const NcclLibrary& NcclLibrary::of_process(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const NcclLibrary>> loaded;
  const std::lock_guard lock(mutex);
  auto& library = loaded[file];
  if (!library) library = std::make_unique<const NcclLibrary>(file);
  return *library;
}

std::string nccl_file(const Lookup& variable) {
  return variable("LONGSHIP_NCCL").value_or("libnccl.so.2");
}

}  // namespace longship::collective
