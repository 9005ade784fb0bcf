// SPDX-License-Identifier: Apache-2.0
// Words of the OCI image specification.
#pragma once
#include <string_view>

namespace longship::image {

inline constexpr std::string_view oci_manifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view oci_index = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view oci_config = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view oci_layer_gzip = "application/vnd.oci.image.layer.v1.tar+gzip";

// The kernel says "x86_64", images say "amd64".
[[nodiscard]] constexpr std::string_view oci_architecture(std::string_view kernel) {
  if (kernel == "x86_64") return "amd64";
  if (kernel == "aarch64") return "arm64";
  if (kernel == "i686") return "386";
  if (kernel == "loongarch64") return "loong64";
  return kernel;
}

}  // namespace longship::image
