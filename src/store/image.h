// SPDX-License-Identifier: Apache-2.0
// What the store knows about an image, and its form as JSON: docs/formats/image-store.md.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "formats/document.h"

namespace longship::store {

// How a process in it starts, if it is not told otherwise: the part of an OCI configuration that means
// something here.
struct Config {
  Environment environment;
  std::string working_directory;
  std::vector<std::string> entrypoint, command;
  std::map<std::string, std::string> labels;
  std::string user;  // kept for others; a box always runs as its caller
};

// Found by looking while the image was made; empty where nothing was found.
struct Facts {
  std::string architecture;  // as uname says it
  std::string libc;          // "glibc 2.36", "musl"
  std::string system;        // "Debian GNU/Linux 12 (bookworm)"
  std::string mpi = {};      // "openmpi 4.1.4", "mpich 4.0.2"
  // "libstdc++" → "3.4.30", "cuda" → "11.8", "torch" → "1.13.1": docs/formats/image-store.md has the words.
  // Nothing: the image was made by a Longship that did not look for them.
  std::optional<std::map<std::string, std::string>> software = {};
};

struct Image {
  std::string name;
  std::string root;        // digest of the SquashFS file
  std::uint64_t size = 0;  // its bytes
  std::uint64_t files = 0;
  Config config;
  Facts facts;
  std::int64_t created = 0;  // seconds since 1970
  std::string origin;        // "bootstrap debian:bookworm", "build examples/digits/image", …
  std::vector<std::string> pulled =
      {};  // digests of the blobs it was made from, which are kept for other pulls
};

[[nodiscard]] formats::Value to_json(const Image& image);
[[nodiscard]] Image image_from_json(const formats::Value& value);  // an Error that names the key

// "debian-torch", "team/gan3d:v2": parts of [a-z0-9._-] with slashes between them and one tag. Error with
// Failure::usage.
void validate_name(std::string_view name);

// A tag that says what is in the image says it truly: an MPI family (mpich, openmpi), an architecture
// (x86_64), CUDA (cuda12, cuda11.8), alone or with other words: "gan3d:v2-mpich-cuda12". Error with
// Failure::usage.
void validate_variant(const Image& image);

}  // namespace longship::store
