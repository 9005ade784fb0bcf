// SPDX-License-Identifier: Apache-2.0
#include "job/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace longship::job {
namespace {

using testing::HasSubstr;

const std::string digest = "sha256:" + std::string(64, 'a');

TEST(NamesTest, ImagesThatRegistriesKnowAreImages) {
  for (const auto& image :
       {std::string("hpc-torch"), std::string("debian:bookworm"), std::string("team/name:v1.2_3"),
        "name@" + digest, std::string("registry.example.org/team/name"),
        std::string("localhost:5000/a/b:latest"), "registry.example.org:5000/a@" + digest,
        std::string("Registry.Example.Org/a"), std::string("./dir/X.sqfs"), std::string("/X")})
    EXPECT_EQ(image_complaint(image), std::nullopt) << image;
}

TEST(NamesTest, OtherImagesAreToldWhy) {
  const std::map<std::string, std::string> wrong = {
      {"", "\"\" is not an image: a name has small letters"},
      {"Torch", "a name has small letters"},
      {"a//b", "a name has small letters"},
      {"a/", "a name has small letters"},
      {"-a", "a name has small letters"},
      {"a.", "a name has small letters"},
      {"a b", "a name has small letters"},
      {"host:port/a", "a name has small letters"},
      {"a:", "the tag after the colon is not valid"},
      {"a:b:c", "a name has small letters"},
      {"a:-x", "the tag after the colon is not valid"},
      {"a@sha256:12", "after the @ comes sha256: and 64 hexadecimal digits"},
  };
  for (const auto& [image, reason] : wrong) {
    ASSERT_TRUE(image_complaint(image)) << image;
    EXPECT_THAT(*image_complaint(image), HasSubstr(reason)) << image;
  }
  EXPECT_TRUE(image_complaint(std::string_view("/a\0b", 4)));
}

TEST(NamesTest, Datasets) {
  for (const auto* good : {"clic/calorimeter", "clic/calorimeter@v2", "s3://bucket/prefix",
                           "https://example.org/x", "/data", "./d", "."})
    EXPECT_EQ(dataset_complaint(good), std::nullopt) << good;
  for (const auto* bad :
       {"", "calorimeter", "a/b/c", "a/b@", "A/b", "s3://", "s3:///x", "ftp://a/b", "a/b@v 2"})
    EXPECT_TRUE(dataset_complaint(bad)) << bad;
  EXPECT_THAT(*dataset_complaint("s33://a"), HasSubstr("did you mean \"s3\"?"));
}

TEST(NamesTest, PlacesForData) {
  for (const auto* good : {"/data", "/data/x/", "/devices", "/procedures/x", "/opt/longships"})
    EXPECT_EQ(mount_point_complaint(good), std::nullopt) << good;
  for (const auto* bad : {"", "data", "/", "//", "/a/../b", "/proc", "/dev/shm", "/sys/x", "/opt/longship"})
    EXPECT_TRUE(mount_point_complaint(bad)) << bad;
  EXPECT_THAT(*mount_point_complaint("/dev/shm"), HasSubstr("/dev belongs to the box"));
}

TEST(NamesTest, OutputsAndVariables) {
  for (const auto* good : {"model.pt", "logs/*.txt", "**/x", "a..b"})
    EXPECT_EQ(output_complaint(good), std::nullopt) << good;
  for (const auto* bad : {"", "/x", "..", "a/../b"}) EXPECT_TRUE(output_complaint(bad)) << bad;
  for (const auto* good : {"A", "_x9", "PATH"}) EXPECT_EQ(variable_complaint(good), std::nullopt) << good;
  for (const auto* bad : {"", "9A", "A B", "A=B", "RANK", "MASTER_PORT"})
    EXPECT_TRUE(variable_complaint(bad)) << bad;
}

}  // namespace
}  // namespace longship::job
