// SPDX-License-Identifier: Apache-2.0
// NVIDIA's NCCL, loaded when somebody asks for it: Longship is compiled without it, and runs without it.
//
// The functions are declared here as NCCL's stable C interface has them since 2.10. A stream is a
// cudaStream_t, a pointer that only NCCL looks behind.
#pragma once
#include <cstddef>
#include <string>

#include "launched_by.h"

namespace longship::collective {

struct NcclId {  // handed from one rank to the others as it is
  char bytes[128];
};
using NcclComm = struct NcclCommunicator*;
using NcclStream = void*;

struct NcclCalls {
  int (*get_unique_id)(NcclId* id);
  int (*comm_init_rank)(NcclComm* comm, int ranks, NcclId id, int rank);
  int (*comm_destroy)(NcclComm comm);
  int (*comm_abort)(NcclComm comm);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int op, NcclComm, NcclStream);
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, NcclComm, NcclStream);
  int (*reduce_scatter)(const void* from, void* to, std::size_t count, int type, int op, NcclComm,
                        NcclStream);
  int (*all_gather)(const void* from, void* to, std::size_t count, int type, NcclComm, NcclStream);
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm, NcclStream);
  int (*receive)(void* to, std::size_t count, int type, int peer, NcclComm, NcclStream);
  int (*group_start)();
  int (*group_end)();
  const char* (*error_text)(int code);
};

class NcclLibrary {
 public:
  // Loads it: an Error says which file, and what it lacks. Never unloaded, for it leaves threads.
  explicit NcclLibrary(const std::string& file);
  // The same, once in a process.
  [[nodiscard]] static const NcclLibrary& of_process(const std::string& file);

  [[nodiscard]] const NcclCalls& calls() const { return calls_; }

 private:
  NcclCalls calls_{};
};

// LONGSHIP_NCCL, else libnccl.so.2 wherever the loader finds it.
[[nodiscard]] std::string nccl_file(const Lookup& variable);

}  // namespace longship::collective
