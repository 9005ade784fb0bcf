// SPDX-License-Identifier: Apache-2.0
// What an image is, found by looking at a few of its files as they pass: architecture, C library,
// distribution, MPI, and the software of software.h.
#pragma once
#include <string>
#include <string_view>

#include "member.h"
#include "store/image.h"

namespace longship::image {

class FactFinder {
 public:
  FactFinder() { facts_.software.emplace(); }
  // Whether the content of this member tells something; then it is small enough for memory.
  [[nodiscard]] static bool wants(const Member& member);
  void look(std::string_view path, std::string_view content);
  [[nodiscard]] const store::Facts& found() const { return facts_; }

 private:
  store::Facts facts_;
};

}  // namespace longship::image
