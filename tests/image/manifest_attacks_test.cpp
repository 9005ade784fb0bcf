// SPDX-License-Identifier: Apache-2.0
// Manifests, indexes and configurations that lie: what is wrong is said, and no file is opened but a blob.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/digest.h"
#include "image/merged.h"
#include "image/oci.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::HasSubstr;

// An OCI layout in memory, each part of which a test can spoil.
class FakeLayout final : public Layout {
 public:
  std::map<std::string, std::string> files;

  [[nodiscard]] bool has(const std::string& path) const override { return files.contains(path); }
  [[nodiscard]] std::unique_ptr<ByteSource> open(const std::string& path) const override {
    EXPECT_TRUE(path == "index.json" || path == "manifest.json" || path.starts_with("blobs/sha256/") ||
                files.contains(path))
        << path;
    const auto found = files.find(path);
    if (found == files.end()) throw Error("there is no {}", path);
    return std::make_unique<MemorySource>(found->second);
  }
  std::string put(const std::string& bytes) {
    const auto digest = formats::digest_of(bytes);
    files["blobs/sha256/" + std::string(formats::hex_of(digest))] = bytes;
    return digest;
  }
  std::string& blob(const std::string& digest) {
    return files.at("blobs/sha256/" + std::string(formats::hex_of(digest)));
  }
};

std::string in_quotes(const std::string& text) {
  return '"' + text + '"';
}

class ManifestAttackTest : public testing::Test {
 protected:
  FakeLayout layout;
  std::string layer = TarBuilder().file("a", "content").done();
  std::string layer_digest = layout.put(layer);

  std::string config_with(const std::string& diff_ids, const std::string& config = "{}") const {
    return R"({"architecture": "amd64", "config": )" + config + R"(, "rootfs": {"diff_ids": )" + diff_ids +
           "}}";
  }
  std::string good_config() const { return config_with("[" + in_quotes(layer_digest) + "]"); }
  std::string manifest_with(const std::string& config_digest, const std::string& layers) const {
    return R"({"schemaVersion": 2, "config": {"digest": ")" + config_digest + R"("}, "layers": )" + layers +
           "}";
  }
  std::string good_layers() const { return R"([{"digest": ")" + layer_digest + R"("}])"; }
  void use_manifest(const std::string& manifest) { use_index(index_of(layout.put(manifest))); }
  void use_index(const std::string& index) { layout.files["index.json"] = index; }
  void use_config(const std::string& config) {
    use_manifest(manifest_with(layout.put(config), good_layers()));
  }
  static std::string index_of(const std::string& digest) {
    return R"({"schemaVersion": 2, "manifests": [{"digest": ")" + digest + R"("}]})";
  }

  // Reads all of the image, as an import does.
  std::string error() const {
    return message_of([&] {
      struct Draining final : MemberSink {
        void add(const Member&, ByteSource& content) override { drain(content); }
      } sink;
      const auto image = read_layout(layout, {});
      if (!image) throw Error("no layout");
      for (const auto& one : image->layers) within(one->name(), [&] { one->read(sink); });
    });
  }
};

TEST_F(ManifestAttackTest, AnHonestOneIsRead) {
  use_config(good_config());
  EXPECT_EQ(error(), "(no error)");
}

TEST_F(ManifestAttackTest, OneThingIsNotTakenForAnother) {
  const auto config = layout.put(good_config());
  for (const auto& [manifest, words] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "a table"},
           {"7", "a table"},
           {"null", "a table"},
           {"{}", "layers"},
           {manifest_with(config, "{}"), "a list"},
           {manifest_with(config, "\"layers\""), "a list"},
           {manifest_with(config, "[7]"), "a table"},
           {manifest_with(config, "[{\"digest\": 7}]"), "digest"},
           {manifest_with(config, "[{\"digest\": [\"" + layer_digest + "\"]}]"), "digest"},
           {R"({"config": ")" + config + R"(", "layers": []})", "config"}}) {
    use_manifest(manifest);
    EXPECT_THAT(error(), HasSubstr(words)) << manifest;
  }
  for (const auto& [config_text, words] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "0 layers"},
           {config_with("7"), "a list"},
           {config_with("[{}]"), "text in quotes"},
           {config_with("[" + in_quotes(layer_digest) + "]", "[]"), ""},
           {config_with("[" + in_quotes(layer_digest) + "]", R"({"Env": "A=b"})"), "a list"},
           {config_with("[" + in_quotes(layer_digest) + "]", R"({"Env": ["A"]})"), "without a value"},
           {config_with("[" + in_quotes(layer_digest) + "]", R"({"Env": ["=A"]})"), "without a value"},
           {config_with("[" + in_quotes(layer_digest) + "]", R"({"Cmd": {}})"), "a list"},
           {config_with("[" + in_quotes(layer_digest) + "]", R"({"Labels": ["a"]})"), "a table"}}) {
    use_config(config_text);
    EXPECT_THAT(error(), HasSubstr(words)) << config_text;
  }
}

// A manifest that is taken for an index by one program and for an image by another (CVE-2021-41190).
TEST_F(ManifestAttackTest, WhatIsBothAnIndexAndAManifestIsRefused) {
  const auto config = layout.put(good_config());
  auto both = manifest_with(config, good_layers());
  both.insert(
      1, R"("manifests": [{"digest": ")" + layout.put(manifest_with(config, good_layers())) + R"("}], )");
  use_manifest(both);
  EXPECT_THAT(error(), HasSubstr("both an index and a manifest"));
}

TEST_F(ManifestAttackTest, ADigestThatIsNoneIsNeverAPath) {
  const auto config = layout.put(good_config());
  for (const auto& digest : std::vector<std::string>{"sha256:../../../../etc/passwd", "../../etc/passwd", "",
                                                     "sha256:", "sha512:" + std::string(128, 'a'),
                                                     "sha256:" + std::string(63, 'a') + "/",
                                                     "sha256:" + std::string(64, 'A'), "sha256:\\u0000"}) {
    use_index(index_of(digest));
    EXPECT_THAT(error(), HasSubstr("is no digest")) << digest;
    use_manifest(manifest_with(digest, good_layers()));
    EXPECT_THAT(error(), HasSubstr("is no digest")) << digest;
    use_manifest(manifest_with(config, R"([{"digest": ")" + digest + R"("}])"));
    EXPECT_THAT(error(), HasSubstr("is no digest")) << digest;
    use_config(config_with("[" + in_quotes(digest) + "]"));
    EXPECT_THAT(error(), HasSubstr("is no digest")) << digest;
  }
}

TEST_F(ManifestAttackTest, ContentThatIsNotWhatItsDigestSaysIsRefused) {
  const auto config = layout.put(good_config());
  const auto manifest = layout.put(manifest_with(config, good_layers()));
  use_index(index_of(manifest));
  const auto spoil = [&](const std::string& digest, const std::string& words) {
    const auto before = layout.blob(digest);
    layout.blob(digest).replace(layout.blob(digest).size() - 1, 1, " ");
    EXPECT_THAT(error(), HasSubstr(words));
    layout.blob(digest).resize(before.size() / 2);
    EXPECT_NE(error(), "(no error)");
    layout.blob(digest) = before;
  };
  spoil(manifest, "its digest does not match its content");
  spoil(config, "its digest does not match its content");
  spoil(layer_digest, "layer 1 of 1: its digest is sha256:");
  EXPECT_EQ(error(), "(no error)");
}

TEST_F(ManifestAttackTest, ALayerThatIsNotWhatTheConfigurationSaysIsRefused) {
  use_config(config_with("[" + in_quotes(formats::digest_of("another")) + "]"));
  EXPECT_THAT(error(), HasSubstr("layer 1 of 1: its diff id is sha256:"));
  use_config(config_with("[]"));
  EXPECT_THAT(error(), HasSubstr("its configuration names 0 layers, its manifest 1"));
}

TEST_F(ManifestAttackTest, ATruncatedLayerIsRefused) {
  layer = TarBuilder().file("a", std::string(5000, 'x')).done().substr(0, 3000);
  layer_digest = layout.put(layer);
  use_config(good_config());
  EXPECT_THAT(error(), HasSubstr("member a: the archive ends in the middle of it"));
}

TEST_F(ManifestAttackTest, AnIndexThatGoesOnAndOnIsRefused) {
  std::string digest = layout.put(manifest_with(layout.put(good_config()), good_layers()));
  for (int depth = 0; depth < 10; ++depth) digest = layout.put(index_of(digest));
  use_index(index_of(digest));
  EXPECT_THAT(error(), HasSubstr("leads to an index that leads to an index"));
}

TEST_F(ManifestAttackTest, AnIndexThatNamesItselfIsRefused) {
  // Nobody can write a text with its own digest in it; a damaged store can have it all the same.
  const std::string self = "sha256:" + std::string(64, '0');
  layout.files["blobs/sha256/" + std::string(64, '0')] = index_of(self);
  use_index(index_of(self));
  EXPECT_THAT(error(), HasSubstr("its digest does not match its content"));
}

TEST_F(ManifestAttackTest, VeryManyLayersAreRefused) {
  std::string layers, ids;
  for (int i = 0; i < 1001; ++i) {
    layers += (i == 0 ? "" : ",") + (R"({"digest": ")" + layer_digest + R"("})");
    ids += (i == 0 ? "" : ",") + in_quotes(layer_digest);
  }
  use_manifest(manifest_with(layout.put(config_with("[" + ids + "]")), "[" + layers + "]"));
  EXPECT_THAT(error(), HasSubstr("it has 1001 layers, more than 1000"));
}

TEST_F(ManifestAttackTest, ADocumentWithoutEndIsRefused) {
  use_index(std::string(5u << 20, ' '));
  EXPECT_THAT(error(), HasSubstr("larger than the 4194304 bytes"));
  use_index(std::string(100'000, '['));
  EXPECT_THAT(error(), HasSubstr("index.json"));
}

TEST_F(ManifestAttackTest, NamesInDockersManifestStayInTheLayout) {
  layout.files["config"] = good_config();
  layout.files["layer"] = layer;
  const auto with = [&](const std::string& config, const std::string& path) {
    layout.files["manifest.json"] = R"([{"Config": ")" + config + R"(", "Layers": [")" + path + R"("]}])";
    return error();
  };
  EXPECT_EQ(with("config", "layer"), "(no error)");
  EXPECT_EQ(with("/config", "./layer"), "(no error)");
  EXPECT_THAT(with("../config", "layer"), HasSubstr("could leave"));
  EXPECT_THAT(with("config", "../../etc/\\u001b[31m"), HasSubstr("the name ../../etc/\\x1b[31m has \"..\""));
}

TEST_F(ManifestAttackTest, ALinkInALayoutLeadsNowhere) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "secret", "{}");
  std::filesystem::create_directories(directory.path() / "layout");
  std::filesystem::create_symlink("../secret", directory.path() / "layout/index.json");
  EXPECT_FALSE(directory_layout(directory.path() / "layout")->has("index.json"));
}

TEST_F(ManifestAttackTest, AnArchiveWithEndlessNamesIsNoLayout) {
  const TemporaryDirectory directory;
  TarBuilder tar;
  tar.file("index.json", "{}");
  for (int i = 0; i < 5000; ++i) tar.file(std::to_string(i), "");
  write_file(directory.path() / "x.tar", tar.done());
  EXPECT_THAT(message_of([&] { (void)tar_layout(directory.path() / "x.tar"); }),
              HasSubstr("too many for a layout"));
}

}  // namespace
}  // namespace longship::image
