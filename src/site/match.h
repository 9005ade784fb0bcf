// SPDX-License-Identifier: Apache-2.0
// Does a job fit a site's queue, and which variant of its image goes there? One function for the decision,
// for `longship why`, and for the agent, which does not trust the hub.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fit/fit.h"
#include "job/job.h"
#include "site.h"
#include "store/image.h"

namespace longship::site {

struct Requester {
  std::string user;
  std::string team;  // empty: none
};

// An image that a job's reference may mean.
struct Variant {
  std::string name;  // "mpi-ring:mpich"
  fit::ImageFacts facts;
  std::size_t index = 0;  // in the list that find_variants was given
  bool is_signed = false;
};

struct Verdict {
  bool fits = false;
  // The first clause that does not fit, as a sentence without a full stop: "needs 4 nodes, queue general has
  // at most 2".
  std::string reason;
  std::string remedy;                  // what to do about it; may be empty
  std::optional<std::size_t> variant;  // in the span given to match(); nothing if the job has no image
};

// Tags are variants: "mpi-ring" means each of "mpi-ring", "mpi-ring:TAG"; "mpi-ring:mpich" exactly that one;
// "…@sha256:…" those with that content. The plain name comes first, then tags in alphabetical order.
[[nodiscard]] std::vector<Variant> find_variants(std::span<const store::Image> images,
                                                 std::string_view reference);
[[nodiscard]] fit::ImageFacts facts_of(const store::Image& image);

// `variants` as find_variants gave them for job.image. Takes a microsecond or a few: the hub asks for every
// waiting job and queue.
[[nodiscard]] Verdict match(const job::Job& job, const Requester& requester, const Site& site,
                            const Queue& queue, std::span<const Variant> variants);

// [accept] alone: nothing, or why the site does not take this requester's jobs.
[[nodiscard]] std::optional<std::string> refusal(const Requester& requester, const Site& site);

// What a node has to have for the job.
struct NodeShare {
  int cores = 0;  // 0: all of them
  int gpus = 0;
  std::uint64_t memory = 0;  // 0: not said
};
[[nodiscard]] NodeShare share_of(const job::Needs& needs);

}  // namespace longship::site
