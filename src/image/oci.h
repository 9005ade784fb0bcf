// SPDX-License-Identifier: Apache-2.0
// Images as other tools write them: an OCI layout (directory or tar) and what docker save makes.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bytes.h"
#include "formats/document.h"
#include "make.h"
#include "store/image.h"

namespace longship::image {

// Files of a layout by their name in it: "index.json", "blobs/sha256/…". Each can be opened as often as
// needed.
class Layout {
 public:
  virtual ~Layout() = default;
  [[nodiscard]] virtual bool has(const std::string& path) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ByteSource> open(const std::string& path) const = 0;
};
[[nodiscard]] std::unique_ptr<Layout> directory_layout(const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<Layout> tar_layout(const std::filesystem::path& archive);

struct OciImage {
  store::Config config;
  std::string architecture;
  Layers layers;  // digests and diff ids are checked while they are read
};

using BytesRead = std::function<void(std::size_t)>;

// The one manifest of an index (OCI's, or Docker's list) that is for an architecture, named as images or as
// kernels do; empty: this machine's. Its digest. An Error if there is more than one, or none, with those that
// there are.
[[nodiscard]] std::string choose_manifest(const formats::Value& index, std::string_view architecture = {});

// An Error if the image's configuration says that it is for another one.
void check_architecture(const formats::Value& config, std::string_view architecture);

// Nothing if the layout is neither kind. Of several images the one for an architecture is taken, as with
// choose_manifest(), or it is an Error.
[[nodiscard]] std::optional<OciImage> read_layout(const Layout& layout, const BytesRead& progress,
                                                  std::string_view architecture = {});

}  // namespace longship::image
