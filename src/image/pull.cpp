// SPDX-License-Identifier: Apache-2.0
#include "pull.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "export.h"
#include "formats/digest.h"
#include "formats/fields.h"
#include "import.h"
#include "oci.h"
#include "oci_names.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

constexpr int deepest_index = 4;
constexpr std::size_t most_blobs = 1000;
constexpr int at_a_time = 4;

struct Wanted {
  std::string digest;
  std::uint64_t size = 0;
};

Manifest find_manifest(Registry& registry, const std::string& object) {
  Manifest manifest = registry.manifest(object);
  for (int depth = 0;; ++depth) {
    const auto document = formats::parse_json(manifest.bytes, "manifest");
    if (document.find("manifests") == nullptr) return manifest;
    if (depth == deepest_index) throw Error("the index leads to an index that leads to an index, and so on");
    manifest = registry.manifest(choose_manifest(document));
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

// The largest first, so that no long one is left for the end.
class Fetching {
 public:
  Fetching(std::vector<Wanted> blobs, fs::path directory, Progress& progress)
      : blobs_(std::move(blobs)), directory_(std::move(directory)), progress_(progress) {
    std::stable_sort(blobs_.begin(), blobs_.end(),
                     [](const Wanted& a, const Wanted& b) { return a.size > b.size; });
    std::uint64_t total = 0;
    for (const auto& blob : blobs_) total += blob.size;
    progress_.begin("pulling", total, "B");
  }

  void run(const std::function<Registry()>& connect) {
    std::vector<std::thread> threads;
    const int count = std::min<int>(at_a_time, static_cast<int>(blobs_.size()));
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { work(connect); });
    for (auto& thread : threads) thread.join();
    if (problem_) std::rethrow_exception(problem_);
    progress_.end();
  }

 private:
  void work(const std::function<Registry()>& connect) {
    try {
      Registry registry = connect();
      for (std::size_t i = next_++; i < blobs_.size(); i = next_++) fetch(registry, blobs_[i]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
      next_ = blobs_.size();
    }
  }

  void fetch(Registry& registry, const Wanted& blob) {
    const Fd file = open_file(directory_ / formats::hex_of(blob.digest), O_WRONLY | O_CREAT | O_EXCL, 0600);
    registry.fetch(blob.digest, blob.size, file.get(), [this](std::size_t bytes) {
      const std::lock_guard lock(mutex_);
      progress_.update(done_ += bytes);
    });
  }

  std::vector<Wanted> blobs_;
  fs::path directory_;
  Progress& progress_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::exception_ptr problem_;
};

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

void push_blob(Registry& registry, const fs::path& blobs, const std::string& digest, std::uint64_t size,
               const BytesMoved& moved) {
  if (registry.has(digest)) return moved(size);
  const Fd file = open_file(blobs / formats::hex_of(digest), O_RDONLY);
  registry.upload(digest, size, file.get(), moved);
}

}  // namespace

store::Image pull(store::Store& store, const Reference& reference, const std::string& name,
                  const RegistryOptions& options, Progress& progress) {
  store::validate_name(name);
  const store::Aside aside = store.aside();
  const fs::path layout = aside.directory();
  const std::string origin = "pull " + reference.text();
  within("cannot " + origin, [&] {
    const auto connect = [&] { return Registry(reference, Registry::Access::pull, options); };
    Registry registry = connect();
    const Manifest manifest = find_manifest(registry, reference.object());
    const auto blobs = layout / "blobs" / "sha256";
    fs::create_directories(blobs);
    Fetching(blobs_of(manifest), blobs, progress).run(connect);
    write_file(blobs / formats::hex_of(manifest.digest), manifest.bytes);
    write_file(layout / "index.json", index_with(manifest));
  });
  return import(store, layout, name, progress, origin);
}

std::string push(const store::Store& store, const store::Image& image, const Reference& reference,
                 const RegistryOptions& options, Progress& progress) {
  return within(fmt::format("cannot push {} to {}", image.name, reference.text()), [&] {
    Registry registry(reference, Registry::Access::push, options);
    registry.check_access();
    const store::Aside aside = store.aside();
    const auto layout = aside.directory();
    progress.begin("packing", 0, "B");
    const auto summary = write_layout(store, image, layout, progress);
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
