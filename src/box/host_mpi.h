// SPDX-License-Identifier: Apache-2.0
// The host's MPI in a box: fit/host_mpi.h says what it consists of, here it gets its places.
#pragma once
#include <string>

#include "box.h"
#include "fit/host_mpi.h"

namespace longship::box {

// `which` is "host", or the path of the MPI's library. Adds binds to `spec` and variables to `chosen`, whose
// LD_LIBRARY_PATH begins with the host's MPI; `image` are the image's own variables. Error with
// Failure::impossible and the remedy if there is none of the image's ABI, or if it does not fit.
void let_in_host_mpi(const std::string& which, const fit::ImageFacts& facts, const Environment& image,
                     Spec& spec, Environment& chosen);

// $LONGSHIP_MPI, by which a site says whose MPI its jobs use: "host", a path, or else "image".
[[nodiscard]] std::string mpi_of_site(const Environment& environment);

namespace detail {
void add_closure(const fit::Closure& closure, const Environment& image, Spec& spec, Environment& chosen);
}

}  // namespace longship::box
