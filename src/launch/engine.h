// SPDX-License-Identifier: Apache-2.0
// The centre's own container tool in the place of our boxes, where user namespaces are off. Here is what each
// of them is told, as a function of what a box would have been; engine_start.h tells how ranks get into it.
//
// Looked up in the tools' own documents: apptainer.org/docs/user (exec), sarus.readthedocs.io (run, load),
// docs.podman.io (podman-run), github.com/NERSC/podman-hpc.
#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "box/box.h"

namespace longship::launch {

enum class Engine { own, apptainer, sarus, podman, podman_hpc };
inline constexpr std::array engines = {Engine::own, Engine::apptainer, Engine::sarus, Engine::podman,
                                       Engine::podman_hpc};
[[nodiscard]] std::string_view name_of(Engine engine);  // as a site file has it; also the program's name
// `origin` is for the Error (Failure::usage) if there is none of that name.
[[nodiscard]] Engine engine_named(std::string_view name, std::string_view origin);
// $LONGSHIP_ENGINE, for `longship run`, `launch` and `box`; without it our own.
[[nodiscard]] Engine engine_of_environment(const Environment& environment);

enum class GpuMaker { none, nvidia, amd };

// What is to be started, with everything in it that had to be looked up on the node.
struct EngineBox {
  std::string image;      // as this engine takes it: a file, a directory, a name in its own store
  box::Spec spec;         // binds only of what is there
  std::string home;       // of the caller; empty: none
  std::string directory;  // where the caller is
  bool is_root = false;
  GpuMaker gpus = GpuMaker::none;
  std::vector<std::string> limits = {};  // "nofile=1024:4096": podman, as root, would raise them
  bool terminal = false;                 // one is to be passed on
  int descriptors = 0;                   // from 3 on, that are to be passed: an MPI launcher's
};

// The command line. Error (Failure::impossible) for what this engine cannot do.
[[nodiscard]] std::vector<std::string> engine_command(Engine engine, const EngineBox& box,
                                                      const std::vector<std::string>& command);

// Those of the centre whose program is found on this machine.
[[nodiscard]] std::vector<std::string> engines_here();
// Of them what to name first to a user for whom user namespaces are off; plain podman needs them itself.
[[nodiscard]] std::string engine_to_suggest(const std::vector<std::string>& here);

// Whether it needs a directory, because it cannot take a SquashFS file.
[[nodiscard]] bool needs_directory(Engine engine);

}  // namespace longship::launch
