// SPDX-License-Identifier: Apache-2.0
#include "engine_image.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/say.h"
#include "base/text.h"
#include "box/unpack.h"
#include "formats/document.h"

namespace longship::launch {
namespace fs = std::filesystem;
namespace {

constexpr auto patience = std::chrono::hours(1);  // for images of many gigabytes on a slow disk
constexpr std::string_view name_in_sarus = "longship/image";

std::string said_in_the_end_by(std::vector<std::string> arguments) {
  Command command;
  command.arguments = std::move(arguments);
  return output_of(std::move(command), {.timeout = patience});
}

fs::path unpacked_tree(Engine engine, const box::Spec& spec) {
  if (spec.unpacked.empty())
    throw Error(Failure::impossible, "{} cannot take a SquashFS file, and there is no place to unpack it",
                name_of(engine));
  const Fd image = open_file(spec.root, O_RDONLY);
  return box::unpacked(image.get(), spec.root, spec.unpacked);
}

// Its tags know letters, digits, '.', '_' and '-': those of our unpacked trees.
std::string load_into_sarus(const box::Spec& spec) {
  const auto tree = unpacked_tree(Engine::sarus, spec);
  const auto tag = tree.filename().string();
  const auto name = "load/" + std::string(name_in_sarus);
  const Fd held = wait_for_lock(spec.unpacked / "sarus.lock");
  if (!detail::lists_image(said_in_the_end_by({"sarus", "images"}), name, tag)) {
    note("loading {} into sarus, once", spec.root.string());
    const TemporaryDirectory aside(".sarus", spec.unpacked);
    const auto archive = aside.path() / "image.tar";
    const auto wanted = std::string(name_in_sarus) + ":" + tag;
    detail::write_docker_archive(tree, archive, wanted);
    (void)said_in_the_end_by({"sarus", "load", archive.string(), wanted});
  }
  return name + ":" + tag;
}

formats::Array list(const std::string& word) {
  formats::Array array;
  array.emplace_back(word);
  return array;
}

std::string_view architecture() {
  utsname about{};
  ::uname(&about);
  const std::string_view machine = about.machine;
  return machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : "ppc64le";
}

std::string configuration(const std::string& layer_digest) {
  formats::Table root, document;
  root.set("type", "layers");
  root.set("diff_ids", list("sha256:" + layer_digest));
  document.set("architecture", architecture());
  document.set("os", "linux");
  document.set("config", formats::Table());  // the image's environment is the helper's business
  document.set("rootfs", std::move(root));
  return formats::dump_json(document);
}

// tar and sha256sum are on every machine; OpenSSL would make the small program, which does this, a large one.
std::string digest_of(const fs::path& file) {
  return said_in_the_end_by({"sha256sum", file.string()}).substr(0, 64);
}

}  // namespace

bool detail::lists_image(std::string_view table, std::string_view name, std::string_view tag) {
  for (const auto line : split(table, '\n')) {
    std::vector<std::string_view> words;
    for (const auto word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() >= 2 && words[0] == name && words[1] == tag) return true;
  }
  return false;
}

void detail::write_docker_archive(const fs::path& tree, const fs::path& archive, const std::string& name) {
  const TemporaryDirectory parts(".docker", archive.parent_path());
  const auto layer = parts.path() / "layer.tar";
  (void)said_in_the_end_by({"tar", "--create", "--file", layer.string(), "--directory", tree.string(),
                            "--numeric-owner", "--owner=0", "--group=0", "."});
  const auto config = configuration(digest_of(layer));
  write_file(parts.path() / "config.json", config);
  const auto config_name = digest_of(parts.path() / "config.json") + ".json";
  fs::rename(parts.path() / "config.json", parts.path() / config_name);
  formats::Table entry;
  entry.set("Config", config_name);
  entry.set("RepoTags", list(name));
  entry.set("Layers", list("layer.tar"));
  formats::Array manifest;
  manifest.emplace_back(std::move(entry));
  write_file(parts.path() / "manifest.json", formats::dump_json(std::move(manifest)));
  (void)said_in_the_end_by({"tar", "--create", "--file", archive.string(), "--directory",
                            parts.path().string(), "manifest.json", config_name, "layer.tar"});
}

std::string image_for(Engine engine, const box::Spec& spec) {
  const bool is_directory = fs::is_directory(spec.root);
  if (engine == Engine::sarus) {
    if (is_directory)
      throw Error(Failure::impossible,
                  "sarus cannot run a directory ({}): make an image of it with \"longship image import\"",
                  spec.root.string());
    return load_into_sarus(spec);
  }
  return is_directory || !needs_directory(engine) ? spec.root.string() : unpacked_tree(engine, spec).string();
}

}  // namespace longship::launch
