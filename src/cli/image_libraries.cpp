// SPDX-License-Identifier: Apache-2.0
#include "image_libraries.h"

#include <filesystem>

#include "fit/host_mpi.h"

namespace longship::cli {
namespace fs = std::filesystem;

fit::ImageFacts facts_for_libraries(const ChosenImage& image) {
  if (fs::is_directory(image.root)) return fit::facts_of_tree(fit::FileTree(image.root));
  return fit::image_facts(image.facts);
}

}  // namespace longship::cli
