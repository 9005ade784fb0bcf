// SPDX-License-Identifier: Apache-2.0
#include "bring.h"

#include <map>

#include "base/file.h"
#include "base/paths.h"
#include "formats/archive.h"
#include "hub_client.h"
#include "store/store.h"
#include "terminal.h"

namespace longship::cli {
namespace {

// An image of the name, or one of its variants, which have tags.
bool is_variant(std::string_view name, std::string_view wanted) {
  return name == wanted || (name.starts_with(wanted) && name.substr(wanted.size()).starts_with(':'));
}

}  // namespace

formats::Value bring_code(HubClient& hub, const job::Job& job) {
  if (job.code.empty()) return {};
  const TemporaryDirectory place;
  const auto archive = place.path() / "code";
  const auto bundle = formats::pack_bundle(job.code, archive);
  const auto progress = make_progress();
  hub.upload(bundle.digest, archive, *progress, "sending code");
  formats::Table code;
  code.set("digest", bundle.digest);
  code.set("size", bundle.packed);
  return code;
}

void bring_images(HubClient& hub, const job::Job& job) {
  if (job.image.empty() || is_path(job.image)) return;
  std::map<std::string, std::string> theirs;
  const auto answer = hub.get("/v1/images");
  for (const auto& image : list_at(answer, "images"))
    if (const auto name = text_at(image, "name"); is_variant(name, job.image))
      theirs[name] = text_at(image, "root");
  const store::Store store;
  const auto progress = make_progress();
  bool any = !theirs.empty();
  for (const auto& image : store.list()) {
    if (!is_variant(image.name, job.image)) continue;
    any = true;
    if (const auto known = theirs.find(image.name); known != theirs.end() && known->second == image.root)
      continue;
    hub.upload(image.root, store.root_of(image), *progress, "sending image " + image.name);
    hub.put("/v1/images", store::to_json(image));
  }
  if (!any) static_cast<void>(store.find(job.image));  // says what there is, and what makes one
}

}  // namespace longship::cli
