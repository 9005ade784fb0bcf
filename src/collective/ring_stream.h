// SPDX-License-Identifier: Apache-2.0
// A Stream through two rings of a Segment: one writer and one reader each, no system call while both are
// awake.
#pragma once
#include "segment.h"
#include "stream.h"

namespace longship::collective {

class RingStream final : public Stream {
 public:
  RingStream(Segment& segment, int peer);  // counts within the node
  std::size_t write(std::span<const std::byte> first, std::span<const std::byte> second) override;
  std::size_t read(std::span<std::byte> buffer) override;

 private:
  Segment& segment_;
  int peer_;
  Ring out_, in_;
};

}  // namespace longship::collective
