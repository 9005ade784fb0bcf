// SPDX-License-Identifier: Apache-2.0
// Layers given as bytes, merged into SquashFS files, which squashfs-tools' own unsquashfs then reads.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "expect.h"
#include "image/layer_of.h"
#include "image/make.h"
#include "image/merge.h"
#include "image/squashfs_writer.h"

namespace longship::image {

class Merged : public testing::Test {
 protected:
  // The lowest first, as in a manifest.
  std::filesystem::path merge(const std::vector<std::string>& archives) {
    const auto path = directory_.path() / ("image" + std::to_string(++count_));
    const Fd fd = open_file(path, O_RDWR | O_CREAT | O_EXCL);
    SquashfsWriter writer(fd.get());
    Merge all(writer);
    for (auto archive = archives.rbegin(); archive != archives.rend(); ++archive)
      all.add_layer(*layer(*archive));
    (void)all.finish();
    return path;
  }
  std::string error_of(const std::vector<std::string>& archives) {
    return message_of([&] { merge(archives); });
  }
  static std::string list(const std::filesystem::path& image) {
    return output_of(
        {.arguments = {"unsquashfs", "-lln", image.string()}, .environment = {}, .directory = {}});
  }
  static bool has(const std::filesystem::path& image, const std::string& name) {
    const std::string text = list(image);
    for (const auto line : split(text, '\n'))
      if (line.ends_with("squashfs-root/" + name) ||
          line.find("squashfs-root/" + name + " -> ") != std::string_view::npos)
        return true;
    return false;
  }
  static std::string content(const std::filesystem::path& image, const std::string& name) {
    return output_of(
        {.arguments = {"unsquashfs", "-cat", image.string(), name}, .environment = {}, .directory = {}});
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

}  // namespace longship::image
