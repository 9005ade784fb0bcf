// SPDX-License-Identifier: Apache-2.0
// Which GPUs of a node its ranks use: what the batch system gave, divided by the ranks' numbers on the node.
#pragma once
#include <string>
#include <vector>

#include "base/process.h"

namespace longship::launch {

// As programs know them, by the first of CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK,
// SLURM_STEP_GPUS and SLURM_JOB_GPUS that is set; where nobody said anything, the first `wanted` of the node.
[[nodiscard]] std::vector<std::string> gpus_given(const Environment& host, int wanted);

// As the node numbers them, whatever a process sees of them: Slurm's own lists come first.
[[nodiscard]] std::vector<std::string> gpus_of_node(const Environment& host, int wanted);

// Those of one rank. `alone`: the process has this one only; if it was given just as many as it needs, they
// are its own (srun --gpus-per-task). Error (Failure::impossible) if there are too few.
[[nodiscard]] std::vector<std::string> gpus_of_rank(const std::vector<std::string>& given, int rank, int each,
                                                    bool alone);

// By which CUDA, ROCm and Level Zero find them.
[[nodiscard]] Environment variables_for(const std::vector<std::string>& gpus);

}  // namespace longship::launch
