// SPDX-License-Identifier: Apache-2.0
// A layer from an archive in memory.
#pragma once
#include <memory>
#include <string>

#include "image/layer.h"

namespace longship::image {

inline std::unique_ptr<Layer> layer(const std::string& archive, std::string digest = {}) {
  return tar_layer({.name = "layer",
                    .open =
                        [archive] {
                          struct Owned final : ByteSource {
                            explicit Owned(std::string text) : bytes(std::move(text)), source(bytes) {}
                            std::size_t read(char* into, std::size_t size) override {
                              return source.read(into, size);
                            }
                            std::string bytes;
                            MemorySource source;
                          };
                          return std::make_unique<Owned>(archive);
                        },
                    .digest = std::move(digest),
                    .diff_id = {}});
}

}  // namespace longship::image
