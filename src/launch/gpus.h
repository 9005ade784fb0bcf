// SPDX-License-Identifier: Apache-2.0
// GPUs in a box. Their device nodes are in the host's /dev anyway; what is missing are the driver's
// libraries, which have to be of the host's kernel module's version and so can never be part of an image. CDI
// files name them; where there are none, a plain list does.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "box/box.h"
#include "cdi.h"
#include "fit/fit.h"
#include "fit/libraries.h"

namespace longship::launch {

struct Gpus {
  std::vector<box::Bind> binds;
  Environment environment;
  std::vector<fit::HostLibrary> libraries;  // found by the loader under /opt/longship-host/gpu/lib
};

// `which` is "all", "none", or names such as "0,1" or "nvidia.com/gpu=0". Error with Failure::impossible that
// tells which there are.
[[nodiscard]] Gpus choose_gpus(const std::string& which, const std::vector<CdiSpec>& specs,
                               const fit::FileTree& host);

// One word a line: a library's name, a path that is bound, or NAME=VALUE; '#' begins a comment. `all` is what
// a list can give.
[[nodiscard]] Gpus gpus_in_list(std::string_view text, std::string_view origin, const fit::FileTree& host,
                                const Environment& environment);

// `gpus` if CDI files name all of them, else "all": then it is the variables alone that choose.
[[nodiscard]] std::string named_or_all(const std::vector<std::string>& gpus);

// Whether this machine has any: a device node, or a CDI file that names one.
[[nodiscard]] bool are_gpus_here();

// All of it: /etc/cdi and /var/run/cdi ($LONGSHIP_CDI_DIRS names others), else the list at
// /etc/longship/gpus.list ($LONGSHIP_GPU_LIST), else NVIDIA's libraries.
void let_in_gpus(const std::string& which, const fit::ImageFacts& facts, const Environment& image,
                 box::Spec& spec, Environment& chosen);

}  // namespace longship::launch
