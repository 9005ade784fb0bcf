// SPDX-License-Identifier: Apache-2.0
// A layer: members in some order, each with its content, that can be read as often as needed.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bytes.h"
#include "member.h"

namespace longship::image {

class MemberSink {
 public:
  virtual ~MemberSink() = default;
  // The content may be read by then, in part, or not at all; it ends with the call.
  virtual void add(const Member& member, ByteSource& content) = 0;
};

class Layer {
 public:
  virtual ~Layer() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // for errors
  virtual void read(MemberSink& sink) = 0;
};

// A tar, compressed or not, whose bytes come from `open`.
struct TarOrigin {
  std::string name;
  std::function<std::unique_ptr<ByteSource>()> open;
  std::string digest;                              // of the bytes as they come; empty: not known
  std::string diff_id;                             // of the tar inside; empty: not known
  bool repeatable = true;                          // false for a pipe: to need it twice is an Error
  std::function<void(std::size_t)> progress = {};  // bytes that came
};
[[nodiscard]] std::unique_ptr<Layer> tar_layer(TarOrigin origin);

// A directory tree as it is. Names that `ignored` says yes to do not come along, nor what is in them.
using Ignored = std::function<bool(const std::string& path, bool directory)>;
[[nodiscard]] std::unique_ptr<Layer> directory_layer(std::filesystem::path root, Ignored ignored = {});
// The upper part of an overlay: whiteouts are 0/0 character devices, opaque directories have an attribute.
[[nodiscard]] std::unique_ptr<Layer> overlay_layer(std::filesystem::path upper);
// With `share_blocks` members say where their blocks are, for SquashfsWriter(fd, base).
[[nodiscard]] std::unique_ptr<Layer> squashfs_layer(std::filesystem::path file, bool share_blocks);

}  // namespace longship::image
