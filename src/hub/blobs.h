// SPDX-License-Identifier: Apache-2.0
// Bytes called by their digest: bundles of code, and images on their way to the image store.
//
//   blobs/sha256/HEX     whole, and what their name says
//   blobs/partial/HEX    uploads that go on where they stopped, also after a restart
//
// What is in the image store is found too. May be called from any thread.
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace longship::hub {

inline constexpr std::uint64_t largest_chunk = std::uint64_t{4} << 20;  // of one read

class Blobs {
 public:
  Blobs(std::filesystem::path directory, const std::filesystem::path& image_store);

  [[nodiscard]] bool has(std::string_view digest) const;
  [[nodiscard]] std::optional<std::uint64_t> size(std::string_view digest) const;  // nothing: not there
  std::uint64_t upload(std::string_view digest, std::uint64_t offset, std::uint64_t size,
                       std::string_view bytes);
  [[nodiscard]] std::uint64_t uploaded(std::string_view digest) const;
  // At most largest_chunk of it; an Error if there is no such blob, or nothing at the offset.
  [[nodiscard]] std::string read(std::string_view digest, std::uint64_t offset, std::uint64_t length) const;

  // An image whose SquashFS file was uploaded gets its name in the image store.
  void add_image(std::string_view record);
  [[nodiscard]] std::vector<store::Image> images() const { return images_.list(); }
  // Changes when images come and go.
  [[nodiscard]] std::string images_stamp() const;

 private:
  [[nodiscard]] std::filesystem::path whole(std::string_view digest) const;
  [[nodiscard]] std::filesystem::path partial(std::string_view digest) const;
  [[nodiscard]] std::filesystem::path find(std::string_view digest) const;  // empty: nowhere
  void finish_what_is_complete() const;
  void give_name(std::string_view digest, const std::filesystem::path& file) const;
  void complete(std::string_view digest, const std::filesystem::path& file) const;

  std::filesystem::path directory_;
  store::Store images_;
  mutable std::mutex mutex_;  // of uploads
};

}  // namespace longship::hub
