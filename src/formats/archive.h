// SPDX-License-Identifier: Apache-2.0
// The code bundle: a job's directory as one file that is carried beside the image.
//
// A tar archive (POSIX ustar, pax records only for names that do not fit) in one zstd frame. The same tree
// always gives the same bytes: names sorted, owner 0, time 0, modes 644 or 755. It holds directories, regular
// files and symbolic links that stay inside; everything else is an error on both sides.
// docs/formats/bundle.md specifies it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace longship::formats {

struct BundleOptions {
  std::uint64_t limit = std::uint64_t{100} << 20;  // of the files' bytes, before compression
  std::uint64_t most_entries = 100'000;
  // Patterns that apply before those of .longshipignore, which may take them back with "!". ".git" never
  // comes along.
  std::vector<std::string> ignore = {"/runs/", "/studies/", "__pycache__/"};
};

struct Bundle {
  std::string digest;        // of the archive's bytes
  std::uint64_t files = 0;   // regular files and links
  std::uint64_t bytes = 0;   // of the files
  std::uint64_t packed = 0;  // of the archive
};

// Sizes are added up before anything is read, so a directory that is too large fails at once, with its
// largest entries. The archive appears at its path only when complete.
Bundle pack_bundle(const std::filesystem::path& directory, const std::filesystem::path& archive,
                   const BundleOptions& options = {});

struct UnpackOptions {
  std::string digest = {};                         // what the archive must be; empty: not known
  std::uint64_t limit = std::uint64_t{100} << 30;  // whoever packed it had a limit; this one stops a bomb
  std::uint64_t most_entries = 10'000'000;
};

// Unpacks what somebody else packed. The directory must not exist, or be empty; it is complete or not there
// at all.
void unpack_bundle(const std::filesystem::path& archive, const std::filesystem::path& directory,
                   const UnpackOptions& options = {});

}  // namespace longship::formats
