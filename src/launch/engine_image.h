// SPDX-License-Identifier: Apache-2.0
// An image as an engine takes it: our SquashFS file as it is (apptainer), unpacked into a directory (podman,
// podman-hpc), or loaded into the engine's own store (sarus). What takes time is done once per image.
#pragma once
#include <string>

#include "box/box.h"
#include "engine.h"

namespace longship::launch {

// `spec.unpacked` is where directories are kept. Error (Failure::impossible) if there is no way.
[[nodiscard]] std::string image_for(Engine engine, const box::Spec& spec);

namespace detail {
// Whether the table that `sarus images` prints has this name and tag.
[[nodiscard]] bool lists_image(std::string_view table, std::string_view name, std::string_view tag);
// A tree as `docker save` would write it: the archive that `sarus load` reads.
void write_docker_archive(const std::filesystem::path& tree, const std::filesystem::path& archive,
                          const std::string& name);
}  // namespace detail

}  // namespace longship::launch
