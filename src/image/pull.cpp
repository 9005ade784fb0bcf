// SPDX-License-Identifier: Apache-2.0
#include "pull.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/fields.h"
#include "import.h"
#include "layout_writer.h"
#include "oci.h"
#include "oci_names.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

constexpr int deepest_index = 4;
constexpr std::size_t most_blobs = 1000;
constexpr std::size_t largest_config = 4u << 20;

Manifest find_manifest(Registry& registry, const std::string& object, std::string_view architecture) {
  Manifest manifest = registry.manifest(object);
  for (int depth = 0;; ++depth) {
    const auto document = formats::parse_json(manifest.bytes, "manifest");
    if (document.find("manifests") == nullptr) return manifest;
    if (depth == deepest_index) throw Error("the index leads to an index that leads to an index, and so on");
    manifest = registry.manifest(choose_manifest(document, architecture));
  }
}

// From the first place that has it.
Manifest find_manifest(const PullRequest& request) {
  for (std::size_t i = 0;; ++i) {
    const auto& [reference, options] = request.places[i];
    try {
      Registry registry(reference, Registry::Access::pull, options);
      return find_manifest(registry, reference.object(), request.architecture);
    } catch (const Error& error) {
      if (i + 1 == request.places.size()) throw;
      explain("{} does not give it: {}", reference.text(), error.what());
    }
  }
}

Wanted wanted(const formats::Value& descriptor, std::string_view what) {
  const formats::Fields fields(descriptor, std::string(what));
  Wanted blob{fields.text("digest"),
              static_cast<std::uint64_t>(fields.integer("size", {0, std::int64_t{1} << 50}))};
  if (!formats::is_digest(blob.digest)) throw fields.wrong("digest", "it is no sha256 digest");
  return blob;
}

std::vector<Wanted> blobs_of(const Manifest& manifest) {
  const auto document = formats::parse_json(manifest.bytes, "manifest");
  const formats::Fields fields(document, "");
  if (fields.integer("schemaVersion", {}, 2) == 1)
    throw Error("its manifest is of the first kind, which registries gave up in 2017: push the image anew");
  std::vector<Wanted> blobs = {wanted(fields.required("config"), "config")};
  for (const auto& layer : fields.required("layers").array()) blobs.push_back(wanted(layer, "layers"));
  if (blobs.size() > most_blobs) throw Error("it has {} layers", blobs.size() - 1);
  std::set<std::string> seen;
  std::erase_if(blobs, [&](const Wanted& blob) { return !seen.insert(blob.digest).second; });
  return blobs;
}

std::string index_with(const Manifest& manifest) {
  formats::Table entry, document;
  entry.set("mediaType", oci_manifest);
  entry.set("digest", manifest.digest);
  entry.set("size", manifest.bytes.size());
  formats::Array manifests;
  manifests.emplace_back(std::move(entry));
  document.set("schemaVersion", 2);
  document.set("manifests", std::move(manifests));
  return formats::dump_json(document);
}

// The layout that the blobs in the store would be, if they were in one.
class PulledLayout final : public Layout {
 public:
  PulledLayout(const Manifest& manifest, const Fetched& fetched) {
    documents_["index.json"] = index_with(manifest);
    documents_[path_of(manifest.digest)] = manifest.bytes;
    for (const auto& [digest, file] : fetched.blobs) blobs_[path_of(digest)] = &file;
  }
  [[nodiscard]] bool has(const std::string& path) const override {
    return documents_.contains(path) || blobs_.contains(path);
  }
  [[nodiscard]] std::unique_ptr<ByteSource> open(const std::string& path) const override {
    if (const auto found = documents_.find(path); found != documents_.end())
      return std::make_unique<MemorySource>(found->second);
    if (const auto found = blobs_.find(path); found != blobs_.end())
      return std::make_unique<SharedFileSource>(found->second->get());
    throw Error("{} is not among what was pulled", printable(path));
  }

 private:
  static std::string path_of(const std::string& digest) {
    return "blobs/sha256/" + std::string(formats::hex_of(digest));
  }
  std::map<std::string, std::string> documents_;
  std::map<std::string, const Fd*> blobs_;
};

store::Image import_pulled(store::Store& store, const Manifest& manifest, const Fetched& fetched,
                           const std::string& name, const std::string& origin, Progress& progress) {
  store::Image image;
  image.name = name;
  image.origin = origin;
  for (const auto& [digest, file] : fetched.blobs) image.pulled.push_back(digest);
  return import_layout(store, PulledLayout(manifest, fetched), std::move(image), progress);
}

// What was kept by an earlier pull may have been damaged since. True if some of it had been.
bool forget_damaged(const store::Store& store, const Fetched& fetched) {
  bool found = false;
  for (const auto& digest : fetched.kept_before) {
    const Fd& file = fetched.blobs.at(digest);
    if (::lseek(file.get(), 0, SEEK_SET) == 0 && formats::digest_of_rest(file.get()) == digest) continue;
    warn("{} was pulled before and has changed since: it is fetched again", digest);
    store.forget_pulled(digest);
    found = true;
  }
  return found;
}

// A manifest that no index led to: only its configuration says what it is for. It is small, and comes first.
void check_config(store::Store& store, const PullRequest& request, const Wanted& config, Progress& progress) {
  Fetched fetched = fetch_blobs(store, request.places, {config}, progress);
  if (forget_damaged(store, fetched)) fetched = fetch_blobs(store, request.places, {config}, progress);
  SharedFileSource file(fetched.blobs.at(config.digest).get());
  check_architecture(formats::parse_json(read_rest(file, largest_config), "configuration"),
                     request.architecture);
}

void push_blob(Registry& registry, const fs::path& blobs, const std::string& digest, std::uint64_t size,
               const BytesMoved& moved) {
  if (registry.has(digest)) return moved(size);
  const Fd file = open_file(blobs / formats::hex_of(digest), O_RDONLY);
  registry.upload(digest, size, file.get(), moved);
}

}  // namespace

store::Image pull(store::Store& store, const PullRequest& request, Progress& progress) {
  store::validate_name(request.name);
  const std::string origin = "pull " + request.places.back().reference.text();
  return within("cannot " + origin, [&] {
    const Manifest manifest = find_manifest(request);
    const auto blobs = blobs_of(manifest);
    if (!request.architecture.empty()) check_config(store, request, blobs.front(), progress);
    Fetched fetched = fetch_blobs(store, request.places, blobs, progress);
    try {
      return import_pulled(store, manifest, fetched, request.name, origin, progress);
    } catch (const Error&) {
      if (!forget_damaged(store, fetched)) throw;
    }
    fetched = fetch_blobs(store, request.places, blobs, progress);
    return import_pulled(store, manifest, fetched, request.name, origin, progress);
  });
}

std::string push(const store::Store& store, const store::Image& image, const Reference& reference,
                 const RegistryOptions& options, Progress& progress) {
  return within(fmt::format("cannot push {} to {}", image.name, reference.text()), [&] {
    Registry registry(reference, Registry::Access::push, options);
    registry.check_access();
    const store::Aside aside = store.aside();
    const auto layout = aside.directory();
    progress.begin("packing", 0, "B");
    const auto summary = write_layout(store.root_of(image), image, layout, progress);
    progress.end();
    const auto blobs = layout / "blobs" / "sha256";
    std::uint64_t done = 0;
    const BytesMoved moved = [&](std::size_t bytes) { progress.update(done += bytes); };
    progress.begin("pushing", summary.layer_size + summary.config_size, "B");
    push_blob(registry, blobs, summary.layer_digest, summary.layer_size, moved);
    push_blob(registry, blobs, summary.config_digest, summary.config_size, moved);
    registry.put_manifest(reference.object(),
                          {summary.manifest, std::string(oci_manifest), summary.manifest_digest});
    progress.end();
    return summary.manifest_digest;
  });
}

}  // namespace longship::image
