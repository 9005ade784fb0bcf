// SPDX-License-Identifier: Apache-2.0
// Members of a layer as a tar archive that every other tool reads: POSIX ustar, with a pax header before a
// member whose name, link, size or attributes do not fit. The same members give the same bytes.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "layer.h"

namespace longship::image {

class TarWriter final : public MemberSink {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  void add(const Member& member, ByteSource& content) override;
  void finish();  // the two empty blocks at the end

 private:
  void add_content(const Member& member, ByteSource& content);
  Sink sink_;
};

}  // namespace longship::image
