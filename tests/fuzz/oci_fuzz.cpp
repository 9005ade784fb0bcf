// SPDX-License-Identifier: Apache-2.0
// Whatever the documents of an image say, they are understood or refused with an Error, and name no file but
// blobs, or names within the layout. The input is up to four texts with "\n---\n" between them: index,
// manifest, configuration, layer; in the first three "@1", "@2" and "@3" stand for the digest of the text
// that follows.
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "formats/digest.h"
#include "fuzz/input.h"
#include "image/oci.h"

namespace {

using namespace longship;

std::string with_digest(std::string_view text, std::string_view mark, const std::string& digest) {
  std::string result;
  while (!text.empty()) {
    const auto end = text.find(mark);
    result += text.substr(0, end);
    if (end == std::string_view::npos) break;
    result += digest;
    text.remove_prefix(end + mark.size());
  }
  return result;
}

class FuzzedLayout final : public image::Layout {
 public:
  std::map<std::string, std::string> files;

  [[nodiscard]] bool has(const std::string& path) const override { return files.contains(path); }
  [[nodiscard]] std::unique_ptr<image::ByteSource> open(const std::string& path) const override {
    if (path != image::normal_path(path)) std::abort();
    const auto found = files.find(path);
    if (found == files.end()) throw Error("not there");
    return std::make_unique<image::MemorySource>(found->second);
  }
  void add_blob(const std::string& text) {
    files["blobs/sha256/" + std::string(formats::hex_of(formats::digest_of(text)))] = text;
  }
};

class Draining final : public image::MemberSink {
 public:
  void add(const image::Member&, image::ByteSource& content) override { image::drain(content); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto rest = fuzz::text_of(data, size);
  const auto index_text = fuzz::take_until(rest, "\n---\n");
  const auto manifest_text = fuzz::take_until(rest, "\n---\n");
  const auto config_text = fuzz::take_until(rest, "\n---\n");
  const std::string layer(rest);
  const auto config = with_digest(config_text, "@3", formats::digest_of(layer));
  const auto manifest = with_digest(with_digest(manifest_text, "@2", formats::digest_of(config)), "@3",
                                    formats::digest_of(layer));
  FuzzedLayout oci, docker;
  oci.files["index.json"] = with_digest(index_text, "@1", formats::digest_of(manifest));
  for (const auto& text : {manifest, config, layer}) oci.add_blob(text);
  docker.files = {{"manifest.json", std::string(index_text)}, {"config", config}, {"layer", layer}};
  for (const auto* layout : {&oci, &docker}) {
    try {
      if (const auto image = image::read_layout(*layout, {}))
        for (const auto& one : image->layers) {
          Draining sink;
          one->read(sink);
        }
    } catch (const Error&) {
    }
  }
  return 0;
}
