// SPDX-License-Identifier: Apache-2.0
#include "acceptance.h"

#include <fmt/core.h>

#include "base/text.h"
#include "formats/document.h"
#include "site/match.h"

namespace longship::agent {

std::optional<std::string> refusal(const site::Site& site, const message::Assignment& assignment,
                                   const job::Job& job) {
  const auto* queue = site::find_queue(site, assignment.queue);
  if (queue == nullptr)
    return fmt::format("site {} has no queue \"{}\"", site.name, printable(assignment.queue));
  std::vector<site::Variant> variants;
  if (!job.image.empty()) {
    if (assignment.image.empty()) return fmt::format("the hub sent no image for {}", printable(job.image));
    const std::vector<store::Image> images = {
        store::image_from_json(formats::parse_json(assignment.image, "image"))};
    store::validate_name(images.front().name);
    variants = site::find_variants(images, job.image);
    if (variants.empty())
      return fmt::format("the hub sent image {} for a job that asks for {}", images.front().name,
                         printable(job.image));
  } else if (!assignment.image.empty()) {
    return "the hub sent an image for a job that asks for none";
  }
  const auto verdict = site::match(job, {assignment.owner, assignment.team}, site, *queue, variants);
  if (verdict.fits) return {};
  return verdict.remedy.empty() ? verdict.reason : verdict.reason + ": " + verdict.remedy;
}

}  // namespace longship::agent
