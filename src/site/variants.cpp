// SPDX-License-Identifier: Apache-2.0
#include "variants.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "job/names.h"

namespace longship::site {
namespace {

struct Reference {
  std::string_view name, tag, digest;  // empty: any
};

Reference taken_apart(std::string_view text) {
  Reference reference;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    reference.digest = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const auto colon = text.rfind(':');
  // A colon before a slash is a port's, not a tag's.
  if (colon != std::string_view::npos && text.find('/', colon) == std::string_view::npos) {
    reference.tag = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  reference.name = text;
  return reference;
}

bool means(const Reference& wanted, const store::Image& image) {
  const auto given = taken_apart(image.name);
  return given.name == wanted.name && (wanted.tag.empty() || given.tag == wanted.tag) &&
         (wanted.digest.empty() || image.root == wanted.digest);
}

// The first thing that keeps the variant from running there; null: nothing does.
const fit::Finding* hindrance(std::span<const fit::Finding> findings) {
  for (const auto& finding : findings)
    if (finding.fit == fit::Fit::none) return &finding;
  return nullptr;
}

Verdict no_such_image(const job::Job& job) {
  if (is_path(job.image))
    return {false,
            fmt::format("image {} is a path, which means nothing on another machine", printable(job.image)),
            fmt::format("longship image import -t NAME {}, and image = \"NAME\"", printable(job.image)),
            {}};
  return {
      false,
      fmt::format("there is no image {}", printable(job.image)),
      fmt::format("longship image build -t {} DIR makes one, longship image ls shows those that are there",
                  printable(job.image)),
      {}};
}

}  // namespace

fit::ImageFacts facts_of(const store::Image& image) {
  return fit::image_facts(image.facts);
}

fit::HostFacts host_facts(const Site& site) {
  fit::HostFacts facts;
  facts.architecture = site.node.arch;
  // A kernel that nobody told of is given the benefit of the doubt.
  facts.kernel = site.host.kernel.value_or(fit::Version(9999, 0));
  if (site.host.mpi) facts.mpi = std::string(trim(site.host.mpi->family + " " + site.host.mpi->version));
  facts.pmi = site.host.pmi;
  if (site.host.mpi) {
    facts.mpi_glibc = site.host.mpi->glibc;
    facts.lets_mpi_in = site.host.mpi->let_in;
  }
  facts.driver = site.host.driver;
  return facts;
}

std::vector<Variant> find_variants(std::span<const store::Image> images, std::string_view reference) {
  std::vector<Variant> variants;
  if (reference.empty() || is_path(reference)) return variants;
  const auto wanted = taken_apart(reference);
  for (std::size_t i = 0; i < images.size(); ++i)
    if (means(wanted, images[i])) variants.push_back({images[i].name, facts_of(images[i]), i, false});
  std::sort(variants.begin(), variants.end(),
            [](const Variant& a, const Variant& b) { return a.name < b.name; });
  return variants;
}

Verdict choose_variant(const job::Job& job, const Site& site, std::span<const Variant> variants) {
  if (variants.empty()) return no_such_image(job);
  const auto host = host_facts(site);
  std::optional<std::size_t> limited;
  std::vector<std::string> reasons;
  std::string remedy;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& variant = variants[i];
    if (site.accept.signed_only && !variant.is_signed) {
      reasons.push_back(fmt::format("{}: site {} takes only signed images", variant.name, site.name));
      continue;
    }
    const auto findings = fit::verdict(variant.facts, host, job.launch == job::Launch::mpi);
    if (const auto* finding = hindrance(findings)) {
      reasons.push_back(fmt::format("{}: {}", variant.name, finding->reason));
      if (remedy.empty()) remedy = finding->remedy;
      continue;
    }
    if (fit::worst(findings) == fit::Fit::good) return {true, {}, {}, i};
    if (!limited) limited = i;
  }
  if (limited) return {true, {}, {}, limited};
  if (reasons.size() == 1) return {false, "image " + reasons[0], remedy, {}};
  return {false,
          fmt::format("no variant of image {} fits: {}", printable(job.image), join(reasons, "; ")),
          remedy,
          {}};
}

}  // namespace longship::site
