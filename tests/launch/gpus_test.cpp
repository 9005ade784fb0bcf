// SPDX-License-Identifier: Apache-2.0
// GPUs by CDI files. The files here are fakes: no machine of ours has a GPU.
#include "launch/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "fit/elf_fixture.h"

namespace longship::launch {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// As nvidia-ctk writes it, shortened.
constexpr const char* yaml = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidiactl
  mounts:
  - hostPath: /usr/lib/libcuda.so.535.104.05
    containerPath: /usr/lib/libcuda.so.535.104.05
    options: [ro, nosuid, nodev, bind]
  - hostPath: /run/nvidia-persistenced/socket
    containerPath: /run/nvidia-persistenced/socket
    options: [rw]
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-ctk
devices:
- name: 0
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /opt/gpu0
      hostPath: /dev/null
- name: "1"
  containerEdits:
    env: [SECOND=1]
)";

constexpr const char* json = R"({"cdiVersion": "0.3.0", "kind": "amd.com/gpu", "devices": [
  {"name": "all", "containerEdits": {"env": ["AMD=all"]}}, {"name": "0", "containerEdits": {"env": ["AMD=0"]}}]})";

class GpusTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_.path() / "usr/lib");
    write_file(directory_.path() / "usr/lib/libcuda.so.535.104.05",
               fit::make_elf({.soname = "libcuda.so.1", .wants = {"GLIBC_2.17"}}));
  }
  [[nodiscard]] std::string error_of(const std::string& which) const {
    try {
      (void)choose_gpus(which, specs_, tree_);
    } catch (const Error& error) {
      EXPECT_EQ(error.failure(), Failure::impossible);
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  fit::FileTree tree_{directory_.path()};
  std::vector<CdiSpec> specs_ = {parse_cdi(yaml, "nvidia.yaml"), parse_cdi(json, "amd.json")};
};

TEST_F(GpusTest, AFileSaysWhatADeviceNeeds) {
  const auto& spec = specs_[0];
  EXPECT_EQ(spec.kind, "nvidia.com/gpu");
  EXPECT_EQ(spec.edits.mounts.size(), 2u);
  EXPECT_TRUE(spec.edits.mounts[0].read_only);
  EXPECT_FALSE(spec.edits.mounts[1].read_only);
  EXPECT_EQ(spec.edits.hooks, 1);
  ASSERT_TRUE(spec.devices.contains("0"));
  EXPECT_EQ(spec.devices.at("0").devices[1].from, "/dev/null");
}

TEST_F(GpusTest, OneGpuComesWithWhatAllNeed) {
  const auto gpus = choose_gpus("0", {specs_[0]}, tree_);
  ASSERT_EQ(gpus.binds.size(), 3u);  // /dev/nvidia0 is in the host's /dev
  EXPECT_EQ(gpus.binds[0].to, "/usr/lib/libcuda.so.535.104.05");
  EXPECT_EQ(gpus.binds[2].to, "/opt/gpu0");
  EXPECT_THAT(gpus.environment, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  ASSERT_EQ(gpus.libraries.size(), 1u);
  EXPECT_EQ(gpus.libraries[0].name, "libcuda.so.1");  // as programs ask for it
  EXPECT_EQ(gpus.libraries[0].glibc, fit::Version(2, 17));
}

TEST_F(GpusTest, SeveralAndAll) {
  EXPECT_EQ(choose_gpus("0,1", {specs_[0]}, tree_).binds.size(), 3u);  // the common part once
  EXPECT_THAT(choose_gpus("0,1", {specs_[0]}, tree_).environment, Contains(Pair("SECOND", "1")));
  EXPECT_THAT(choose_gpus("all", specs_, tree_).environment, Contains(Pair("AMD", "all")));
  EXPECT_THAT(choose_gpus("all", specs_, tree_).environment, Contains(Pair("SECOND", "1")));
  EXPECT_THAT(choose_gpus("amd.com/gpu=0", specs_, tree_).environment, ElementsAre(Pair("AMD", "0")));
}

TEST_F(GpusTest, NoneHidesThemFromPrograms) {
  const auto gpus = choose_gpus("none", specs_, tree_);
  EXPECT_TRUE(gpus.binds.empty());
  EXPECT_THAT(gpus.environment, Contains(Pair("CUDA_VISIBLE_DEVICES", "")));
}

TEST_F(GpusTest, AGpuThatIsNotThereIsSaidWithThoseThatAre) {
  EXPECT_THAT(error_of("7"), HasSubstr("there is no GPU 7 here"));
  EXPECT_THAT(error_of("7"), HasSubstr("nvidia.com/gpu=0, nvidia.com/gpu=1, amd.com/gpu=0, amd.com/gpu=all"));
}

TEST_F(GpusTest, FilesThatMakeNoSenseAreNamedWithTheirPlace) {
  const auto error = [](const char* text) {
    try {
      (void)parse_cdi(text, "x.json");
    } catch (const Error& failed) {
      return std::string(failed.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error("{}"), HasSubstr("cdiVersion"));
  EXPECT_THAT(error(R"({"cdiVersion": "1", "kind": "gpu"})"), HasSubstr("is not VENDOR/CLASS"));
  EXPECT_THAT(error(R"({"cdiVersion": "1", "kind": "a/gpu", "containerEdits": {"env": ["x"]}})"),
              HasSubstr("is not NAME=VALUE"));
  EXPECT_THAT(
      error(
          R"({"cdiVersion": "1", "kind": "a/gpu", "containerEdits": {"mounts": [{"hostPath": "a", "containerPath": "/b"}]}})"),
      HasSubstr("is not an absolute path"));
}

TEST_F(GpusTest, TheLaterDirectoryCountsAndABrokenFileIsLeftOut) {
  const auto first = directory_.path() / "etc", second = directory_.path() / "run";
  fs::create_directories(first);
  fs::create_directories(second);
  write_file(first / "a.json", json);
  write_file(first / "broken.json", "{");
  write_file(first / "readme.txt", "no CDI file");
  write_file(
      second / "b.yaml",
      "cdiVersion: 0.5.0\nkind: amd.com/gpu\ndevices:\n- {name: 0, containerEdits: {env: [AMD=new]}}\n");
  const auto specs = read_cdi({first, directory_.path() / "nowhere", second});
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_THAT(choose_gpus("0", specs, tree_).environment, ElementsAre(Pair("AMD", "new")));
}

TEST_F(GpusTest, APlainListDoesWhereThereAreNoSuchFiles) {
  const auto gpus = gpus_in_list(
      "# the driver\nlibcuda.so.535.104.05\nlibgone.so.1\n/usr/bin/nvidia-smi   # if it is "
      "there\nCUDA_CACHE_DISABLE=1\n",
      "gpus.list", tree_, {});
  ASSERT_EQ(gpus.libraries.size(), 1u);
  EXPECT_EQ(gpus.libraries[0].path, "/usr/lib/libcuda.so.535.104.05");
  EXPECT_TRUE(gpus.binds.at(0).optional);
  EXPECT_EQ(gpus.environment.at("CUDA_CACHE_DISABLE"), "1");
  EXPECT_THROW((void)gpus_in_list("what is this\n", "gpus.list", tree_, {}), Error);
}

}  // namespace
}  // namespace longship::launch
