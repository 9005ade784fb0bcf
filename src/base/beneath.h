// SPDX-License-Identifier: Apache-2.0
// Opening files beneath a directory when someone else chose their names: an image's member, a job's output.
// No "..", no absolute name and no symbolic link leads outside, whatever happens in the directory meanwhile.
#pragma once
#include <string_view>

#include "fd.h"

namespace longship {

enum class Links {
  forbid,   // any symbolic link on the way is an error (ELOOP)
  confine,  // links are followed as if `directory` were the root
};

// openat2 with RESOLVE_BENEATH or RESOLVE_IN_ROOT; before Linux 5.6, or where a filter forbids it, component
// by component with the same results. Throws Error with errno; a way out is EXDEV.
[[nodiscard]] Fd open_beneath(int directory, std::string_view path, int flags, unsigned mode = 0,
                              Links links = Links::forbid);

namespace detail {
// The fallback alone, for its test.
[[nodiscard]] Fd open_beneath_by_steps(int directory, std::string_view path, int flags, unsigned mode,
                                       Links links);
}  // namespace detail

}  // namespace longship
