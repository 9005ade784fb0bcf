// SPDX-License-Identifier: Apache-2.0
// A SquashFS file as a directory, for machines that let nobody mount it. Slow the first time, kept for the
// next.
#pragma once
#include <filesystem>

namespace longship::box {

// The directory beneath `cache` that holds the image; made now if it is not there yet. It appears at once or
// not at all, also when several processes want it at the same time or one is killed meanwhile: the next one
// clears up.
[[nodiscard]] std::filesystem::path unpacked(int image, const std::filesystem::path& name,
                                             const std::filesystem::path& cache);

// Everything in the image, written into an empty directory. Files belong to the caller; device nodes are left
// out.
void unpack(int image, const std::filesystem::path& name, int directory);

}  // namespace longship::box
