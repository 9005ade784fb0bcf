// SPDX-License-Identifier: Apache-2.0
#include "layout_writer.h"

#include <sys/utsname.h>

#include <ctime>

#include "base/file.h"
#include "formats/digest.h"
#include "formats/document.h"
#include "gzip_writer.h"
#include "layer.h"
#include "oci_names.h"
#include "tar_writer.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

// A stream of bytes to a file, counted and digested on the way.
class DigestedFile {
 public:
  explicit DigestedFile(int fd) : fd_(fd) {}
  void write(std::string_view bytes) {
    write_all(fd_, bytes);
    hash_.update(bytes);
    size_ += bytes.size();
  }
  [[nodiscard]] std::string digest() { return hash_.digest(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int fd_;
  formats::Sha256 hash_;
  std::uint64_t size_ = 0;
};

struct LayerWritten {
  std::string digest, diff_id;
  std::uint64_t size = 0;
};

LayerWritten write_layer(const fs::path& root, const fs::path& blobs, Progress& progress) {
  PendingFile file(blobs / "layer");
  DigestedFile packed(file.fd());
  formats::Sha256 plain;
  std::uint64_t done = 0;
  GzipWriter gzip([&](std::string_view bytes) { packed.write(bytes); });
  write_tar(root, [&](std::string_view bytes) {
    plain.update(bytes);
    gzip.write(bytes);
    progress.update(done += bytes.size());
  });
  gzip.finish();
  LayerWritten layer{packed.digest(), plain.digest(), packed.size()};
  file.commit_as(blobs / formats::hex_of(layer.digest));
  return layer;
}

formats::Array texts(const std::vector<std::string>& words) {
  formats::Array array;
  for (const auto& word : words) array.emplace_back(word);
  return array;
}

std::string moment(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Of an image without a single program nothing was found; other tools want a word all the same.
std::string architecture_of(const store::Image& image) {
  utsname about{};
  ::uname(&about);
  return std::string(
      oci_architecture(image.facts.architecture.empty() ? about.machine : image.facts.architecture.c_str()));
}

formats::Table config_of(const store::Image& image) {
  formats::Table config;
  formats::Array environment;
  for (const auto& [name, value] : image.config.environment) environment.emplace_back(name + "=" + value);
  if (!environment.empty()) config.set("Env", std::move(environment));
  if (!image.config.entrypoint.empty()) config.set("Entrypoint", texts(image.config.entrypoint));
  if (!image.config.command.empty()) config.set("Cmd", texts(image.config.command));
  if (!image.config.working_directory.empty()) config.set("WorkingDir", image.config.working_directory);
  if (!image.config.user.empty()) config.set("User", image.config.user);
  if (!image.config.labels.empty()) {
    formats::Table labels;
    for (const auto& [key, value] : image.config.labels) labels.set(key, value);
    config.set("Labels", std::move(labels));
  }
  return config;
}

std::string configuration(const store::Image& image, const LayerWritten& layer) {
  formats::Table root, step, document;
  root.set("type", "layers");
  root.set("diff_ids", texts({layer.diff_id}));
  step.set("created_by", "longship: " + image.origin);
  formats::Array history;
  history.emplace_back(std::move(step));
  document.set("created", moment(image.created));
  document.set("architecture", architecture_of(image));
  document.set("os", "linux");
  document.set("config", config_of(image));
  document.set("rootfs", std::move(root));
  document.set("history", std::move(history));
  return formats::dump_json(document);
}

formats::Table descriptor(std::string_view type, const std::string& digest, std::uint64_t size) {
  formats::Table table;
  table.set("mediaType", type);
  table.set("digest", digest);
  table.set("size", size);
  return table;
}

std::string manifest_of(const LayoutSummary& summary) {
  formats::Array layers;
  layers.emplace_back(descriptor(oci_layer_gzip, summary.layer_digest, summary.layer_size));
  formats::Table document;
  document.set("schemaVersion", 2);
  document.set("mediaType", oci_manifest);
  document.set("config", descriptor(oci_config, summary.config_digest, summary.config_size));
  document.set("layers", std::move(layers));
  return formats::dump_json(document);
}

std::string index_of(const LayoutSummary& summary, const store::Image& image) {
  auto entry = descriptor(oci_manifest, summary.manifest_digest, summary.manifest.size());
  formats::Table annotations, platform;
  annotations.set("org.opencontainers.image.ref.name", image.name);
  platform.set("architecture", architecture_of(image));
  platform.set("os", "linux");
  entry.set("platform", std::move(platform));
  entry.set("annotations", std::move(annotations));
  formats::Array manifests;
  manifests.emplace_back(std::move(entry));
  formats::Table document;
  document.set("schemaVersion", 2);
  document.set("mediaType", oci_index);
  document.set("manifests", std::move(manifests));
  return formats::dump_json(document);
}

}  // namespace

void write_tar(const fs::path& root, const std::function<void(std::string_view)>& sink) {
  TarWriter writer(sink);
  squashfs_layer(root, false)->read(writer);
  writer.finish();
}

LayoutSummary write_layout(const fs::path& root, const store::Image& image, const fs::path& directory,
                           Progress& progress) {
  const auto blobs = directory / "blobs" / "sha256";
  fs::create_directories(blobs);
  const auto layer = write_layer(root, blobs, progress);
  const auto config = configuration(image, layer);
  LayoutSummary summary;
  summary.layer_digest = layer.digest;
  summary.layer_size = layer.size;
  summary.config_digest = formats::digest_of(config);
  summary.config_size = config.size();
  write_file(blobs / formats::hex_of(summary.config_digest), config);
  summary.manifest = manifest_of(summary);
  summary.manifest_digest = formats::digest_of(summary.manifest);
  write_file(blobs / formats::hex_of(summary.manifest_digest), summary.manifest);
  write_file(directory / "oci-layout", R"({"imageLayoutVersion": "1.0.0"})");
  write_file(directory / "index.json", index_of(summary, image));
  return summary;
}

}  // namespace longship::image
