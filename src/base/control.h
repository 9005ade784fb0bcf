// SPDX-License-Identifier: Apache-2.0
// The page through which a node's launcher speaks to the training processes on it: they map it and look, it
// writes. LONGSHIP_CONTROL names the file; no signal, no thread, and looking costs one load.
//
// Fields are only added; a reader ignores a page whose version it does not know.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace longship {

struct ControlPage {
  static constexpr std::uint64_t right_magic = 0x6c727463'70696873;  // "shipctrl"
  static constexpr std::uint32_t right_version = 1;

  std::uint64_t magic = right_magic;
  std::uint32_t version = right_version;
  std::atomic<std::uint32_t> checkpoints_wanted = 0;  // how often one has been asked for
};
static_assert(sizeof(ControlPage) == 16 && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace longship
