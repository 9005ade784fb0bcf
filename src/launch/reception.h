// SPDX-License-Identifier: Apache-2.0
// A place on this machine where helpers reach their launcher, which nobody else can enter.
#pragma once
#include "base/fd.h"
#include "base/file.h"

namespace longship::launch {

struct Reception {
  Reception();
  TemporaryDirectory directory{"longship-launch"};
  Fd socket;
  [[nodiscard]] std::filesystem::path path() const { return directory.path() / "socket"; }

  // Where it is to be bound in a box or container, and how it is reached there.
  static constexpr const char* in_the_box = "/run/longship/launcher";
  static constexpr const char* socket_in_the_box = "/run/longship/launcher/socket";
};

// The directory of the helper's program in a box or container.
inline constexpr const char* helper_in_the_box = "/run/longship/bin";

}  // namespace longship::launch
