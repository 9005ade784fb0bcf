// SPDX-License-Identifier: Apache-2.0
// What a job needs against what is here, before anything is made.
#include <sys/utsname.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "fit/fit.h"
#include "launch/allocation.h"
#include "launch/engine_start.h"
#include "launch/gpus.h"
#include "launch/mpi.h"
#include "pilot.h"
#include "store/store.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

fit::HostFacts this_host(bool mpi_job) {
  utsname about{};
  ::uname(&about);
  fit::HostFacts facts;
  facts.architecture = about.machine;
  facts.kernel = fit::Version::parse(about.release).value_or(fit::Version());
  if (mpi_job) facts.pmi = launch::pmi_of_this_host();
  return facts;
}

void check_fit(const store::Image& image, const job::Job& job) {
  const bool mpi_job = job.launch == job::Launch::mpi;
  for (const auto& finding : fit::verdict(fit::image_facts(image.facts), this_host(mpi_job), mpi_job)) {
    if (finding.fit == fit::Fit::none)
      throw Error(Failure::impossible, "image {} does not fit: {}: {}", image.name, finding.reason,
                  finding.remedy);
    if (finding.fit == fit::Fit::limited)
      warn("image {}: {}: {}", image.name, finding.reason, finding.remedy);
  }
}

void find_image(const job::Job& job, Ground& ground) {
  const store::Store store;
  ground.unpacked = store.location() / "unpacked";
  if (job.image.empty()) return;
  if (job.image.starts_with('/')) {
    if (!fs::exists(job.image)) throw Error("there is no image {}", job.image);
    ground.root = job.image;
    return;
  }
  ground.image = store.find(job.image);
  ground.root = store.root_of(*ground.image);
  check_fit(*ground.image, job);
}

void find_nodes(const job::Job& job, Ground& ground) {
  const auto allocation = launch::current_allocation(current_environment());
  const int wanted = job.needs.nodes;
  if (!allocation) {
    if (wanted > 1)
      throw Error(
          Failure::impossible,
          "the job needs {} nodes, and this is one machine: run it inside an allocation of the batch system "
          "(salloc, sbatch), or with --set needs.nodes=1",
          wanted);
    return;
  }
  ground.nodes = allocation->nodes;
  ground.across = !allocation->here;
  if (wanted != allocation->nodes)
    note("the job asks for {}, the allocation has {}: all of them are used", counted(wanted, "node"),
         allocation->nodes);
}

// What is asked for and not there is said, not silently left out.
void tell_what_needs_a_hub(const job::Job& job) {
  if (job.checkpoint)
    warn("[checkpoint] acts only through a hub (longship submit): a run in the foreground is not resumed");
  if (job.retry.crashes > 0)
    warn("[retry] acts only through a hub (longship submit): here a job that crashes has failed");
}

void check_kind(const job::Job& job) {
  if (job.launch == job::Launch::spark)
    throw Error(Failure::impossible, "launch = \"spark\" is not there yet");
  if (job.needs.gpus_per_rank > 0 && !launch::are_gpus_here())
    throw Error(Failure::impossible, "the job needs {} per rank, and this machine has none",
                counted(job.needs.gpus_per_rank, "GPU"));
}

// Its program is looked for before anything is made; on the other nodes it says for itself if it is not
// there.
void choose_engine(launch::Engine engine, const job::Job& job, Ground& ground) {
  ground.engine = engine;
  if (!job.image.empty()) launch::check_engine(engine);
}

void check_data(const job::Job& job) {
  for (const auto& data : job.data) {
    if (!data.dataset.starts_with('/'))
      throw Error(Failure::impossible, "data {}: only paths of this machine can be used so far",
                  data.dataset);
    if (!fs::exists(data.dataset)) throw Error("data {}: there is nothing at this path", data.dataset);
    if (job.image.empty() && data.at != data.dataset)
      throw Error(Failure::impossible, "data {} cannot be shown at {} without an image", data.dataset,
                  data.at);
  }
}

void place_image(const job::Job& job, const store::Image& image, const fs::path& image_store,
                 Ground& ground) {
  const store::Store store(image_store);
  ground.image = image;
  ground.root = store.root_of(image);
  if (!fs::exists(ground.root))
    throw Error("image {} is not in the site's store: there is no {}", image.name, ground.root.string());
  check_fit(image, job);
}

}  // namespace

Ground look_at_the_ground(const job::Job& job, const std::optional<store::Image>& image,
                          const fs::path& image_store, launch::Engine engine) {
  return within("job " + job.name, [&] {
    Ground ground;
    check_kind(job);
    check_data(job);
    ground.unpacked = image_store / "unpacked";
    choose_engine(engine, job, ground);
    if (image)
      place_image(job, *image, image_store, ground);
    else if (!job.image.empty())
      find_image(job, ground);
    find_nodes(job, ground);
    return ground;
  });
}

Ground look_at_the_ground(const job::Job& job) {
  return within("job " + job.name, [&] {
    Ground ground;
    tell_what_needs_a_hub(job);
    check_kind(job);
    check_data(job);
    choose_engine(launch::engine_of_environment(current_environment()), job, ground);
    find_image(job, ground);
    find_nodes(job, ground);
    return ground;
  });
}

}  // namespace longship::pilot
