// SPDX-License-Identifier: Apache-2.0
#include "oci.h"

#include <sys/utsname.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "fit/fit.h"
#include "formats/digest.h"
#include "formats/fields.h"

namespace longship::image {
namespace {

constexpr std::size_t largest_document = 4u << 20;  // what registries allow for a manifest
constexpr int deepest_index = 4;
constexpr std::size_t most_layers = 1000;  // each may have to be looked for in the whole archive

std::string blob_path(std::string_view digest) {
  return "blobs/sha256/" + std::string(formats::hex_of(digest));
}

formats::Value document(const Layout& layout, const std::string& path) {
  return within(printable(path),
                [&] { return formats::parse_json(read_rest(*layout.open(path), largest_document), path); });
}

formats::Value document_by_digest(const Layout& layout, std::string_view digest) {
  const std::string path = blob_path(digest);
  const std::string text = within(path, [&] { return read_rest(*layout.open(path), largest_document); });
  if (formats::digest_of(text) != digest) throw Error("{}: its digest does not match its content", path);
  return formats::parse_json(text, path);
}

std::string machine() {
  utsname name{};
  ::uname(&name);
  return name.machine;
}

// "linux/amd64", in the kernel's words "linux/x86_64"; nothing if the descriptor does not say, as an index of
// tags does not.
std::optional<std::string> platform_of(const formats::Value& descriptor) {
  const auto* platform = descriptor.find("platform");
  if (platform == nullptr) return std::nullopt;
  const formats::Fields fields(*platform, "platform");
  return fmt::format("{}/{}", fields.text("os", "linux"),
                     fit::kernel_architecture(fields.text("architecture", "")));
}

// Signatures and other papers stand in an index as images for "unknown".
std::string choice_of(const formats::Array& manifests) {
  std::vector<std::string> names;
  for (const auto& descriptor : manifests)
    if (auto name = platform_of(descriptor); name && name->find("unknown") == std::string::npos)
      names.push_back(printable(name->starts_with("linux/") ? name->substr(6) : *name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.empty() ? "" : "; it has " + join(names, ", ");
}

// An index lists manifests, or further indexes: one per architecture, or per tag.
formats::Value manifest_in(const Layout& layout, const formats::Value& index, std::string_view architecture,
                           int depth) {
  if (depth > deepest_index) throw Error("the index leads to an index that leads to an index, and so on");
  formats::Value found = document_by_digest(layout, choose_manifest(index, architecture));
  return found.find("manifests") != nullptr ? manifest_in(layout, found, architecture, depth + 1) : found;
}

std::vector<std::string> words(const formats::Value* list) {
  std::vector<std::string> found;
  if (list == nullptr || list->is(formats::Kind::null)) return found;
  for (const auto& word : list->array()) found.push_back(word.text());
  return found;
}

std::string text(const formats::Value& table, std::string_view key) {
  const auto* value = table.find(key);
  return value == nullptr || value->is(formats::Kind::null) ? "" : value->text();
}

store::Config config_of(const formats::Value& document) {
  store::Config config;
  const auto* table = document.find("config");
  if (table == nullptr || table->is(formats::Kind::null)) return config;
  for (const auto& variable : words(table->find("Env"))) {
    const auto equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error("its configuration has the variable {} without a value", printable(variable));
    config.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  config.working_directory = text(*table, "WorkingDir");
  config.user = text(*table, "User");
  config.entrypoint = words(table->find("Entrypoint"));
  config.command = words(table->find("Cmd"));
  if (const auto* labels = table->find("Labels"); labels != nullptr && !labels->is(formats::Kind::null))
    for (const auto& entry : labels->table()) config.labels[entry.key] = entry.value.text();
  return config;
}

struct Blob {
  std::string path, digest;
};

OciImage image_of(const Layout& layout, const formats::Value& config, const std::vector<Blob>& blobs,
                  const BytesRead& progress, std::string_view architecture) {
  if (!architecture.empty()) check_architecture(config, architecture);
  OciImage image;
  image.config = config_of(config);
  image.architecture = std::string(fit::kernel_architecture(text(config, "architecture")));
  const auto* root = config.find("rootfs");
  const auto diff_ids = words(root == nullptr ? nullptr : root->find("diff_ids"));
  if (diff_ids.size() != blobs.size())
    throw Error("its configuration names {} layers, its manifest {}", diff_ids.size(), blobs.size());
  if (blobs.size() > most_layers) throw Error("it has {} layers, more than {}", blobs.size(), most_layers);
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    static_cast<void>(formats::hex_of(diff_ids[i]));  // an empty one would not be compared
    image.layers.push_back(tar_layer({.name = fmt::format("layer {} of {}", i + 1, blobs.size()),
                                      .open = [&layout, path = blobs[i].path] { return layout.open(path); },
                                      .digest = blobs[i].digest,
                                      .diff_id = diff_ids[i],
                                      .repeatable = true,
                                      .progress = progress}));
  }
  return image;
}

OciImage read_oci(const Layout& layout, const BytesRead& progress, std::string_view architecture) {
  const auto manifest = manifest_in(layout, document(layout, "index.json"), architecture, 0);
  const formats::Fields fields(manifest, "");
  std::vector<Blob> blobs;
  for (const auto& layer : fields.required("layers").array()) {
    const std::string digest = formats::Fields(layer, "layers").text("digest");
    blobs.push_back({blob_path(digest), digest});
  }
  const auto config =
      document_by_digest(layout, formats::Fields(fields.required("config"), "config").text("digest"));
  return image_of(layout, config, blobs, progress, architecture);
}

OciImage read_docker(const Layout& layout, const BytesRead& progress, std::string_view architecture) {
  const auto manifest = document(layout, "manifest.json");
  if (manifest.array().size() != 1)
    throw Error("it has {} images: save one at a time", manifest.array().size());
  const formats::Fields fields(manifest.array().front(), "manifest");
  std::vector<Blob> blobs;
  for (const auto& path : fields.words("Layers")) blobs.push_back({normal_path(path), ""});
  return image_of(layout, document(layout, normal_path(fields.text("Config"))), blobs, progress,
                  architecture);
}

}  // namespace

std::string choose_manifest(const formats::Value& index, std::string_view architecture) {
  // One program would take it for this, another for that, and both for what was checked (CVE-2021-41190).
  if (index.find("layers") != nullptr || index.find("config") != nullptr)
    throw Error("it is both an index and a manifest, which is refused");
  const std::string wanted(architecture.empty() ? machine() : fit::kernel_architecture(architecture));
  const std::string whom = architecture.empty() ? fmt::format("this machine ({})", wanted) : wanted;
  std::vector<const formats::Value*> fitting;
  const formats::Fields fields(index, "");
  const auto& manifests = fields.required("manifests").array();
  for (const auto& descriptor : manifests)
    if (platform_of(descriptor).value_or("linux/" + wanted) == "linux/" + wanted)
      fitting.push_back(&descriptor);
  if (fitting.empty())
    throw Error(Failure::impossible, "it has no image for {}{}", whom, choice_of(manifests));
  if (fitting.size() > 1)
    throw Error("it has {} images for {}: import a layout with one", fitting.size(), whom);
  return formats::Fields(*fitting.front(), "manifests").text("digest");
}

void check_architecture(const formats::Value& config, std::string_view architecture) {
  const auto found = text(config, "architecture");
  if (found.empty() || fit::kernel_architecture(found) == fit::kernel_architecture(architecture)) return;
  throw Error(Failure::impossible, "it has no image for {}; it has {}",
              fit::kernel_architecture(architecture), printable(fit::kernel_architecture(found)));
}

std::optional<OciImage> read_layout(const Layout& layout, const BytesRead& progress,
                                    std::string_view architecture) {
  if (layout.has("index.json")) return read_oci(layout, progress, architecture);
  if (layout.has("manifest.json")) return read_docker(layout, progress, architecture);
  return std::nullopt;
}

}  // namespace longship::image
