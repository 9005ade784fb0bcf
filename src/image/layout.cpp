// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <set>

#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "decompress.h"
#include "oci.h"
#include "tar.h"

namespace longship::image {
namespace {

constexpr std::uint64_t largest_archive = std::uint64_t{1} << 40;

class DirectoryLayout final : public Layout {
 public:
  explicit DirectoryLayout(const std::filesystem::path& directory)
      : root_(open_file(directory, O_RDONLY | O_DIRECTORY)) {}

  [[nodiscard]] bool has(const std::string& path) const override {
    try {
      return static_cast<bool>(open_beneath(root_.get(), path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    } catch (const Error&) {
      return false;
    }
  }
  [[nodiscard]] std::unique_ptr<ByteSource> open(const std::string& path) const override {
    return std::make_unique<FileSource>(open_beneath(root_.get(), path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }

 private:
  Fd root_;
};

// One member of an archive, found by reading the archive from its start.
class TarMember final : public ByteSource {
 public:
  TarMember(const std::filesystem::path& archive, const std::string& path)
      : file_(open_file(archive, O_RDONLY)), plain_(decompress(file_, largest_archive)), reader_(*plain_) {
    while (const auto member = reader_.next())
      if (member->path == path && member->kind == Kind::file) return;
    throw Error("{} is not in {}", printable(path), archive.string());
  }
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override {
    return reader_.content().read(into, size);
  }

 private:
  FileSource file_;
  std::unique_ptr<ByteSource> plain_;
  TarReader reader_;
};

class TarLayout final : public Layout {
 public:
  explicit TarLayout(const std::filesystem::path& archive) : archive_(archive) {
    FileSource file(open_file(archive, O_RDONLY));
    const auto plain = decompress(file, largest_archive);
    TarReader reader(*plain);
    bool has_members = false;
    while (const auto member = reader.next()) {
      has_members = true;
      // Layouts have a few dozen names. A whole system has many, and nothing in it is of interest here.
      if (names_.size() > most_names) {
        if (is_layout())
          throw Error("it has more than {} files, too many for a layout of one image", most_names);
        break;
      }
      if (member->kind == Kind::file) names_.insert(member->path);
    }
    if (!has_members) throw Error("{}", nothing_in_it(reader.has_end_marker()));
    if (!is_layout()) names_.clear();
  }
  [[nodiscard]] bool has(const std::string& path) const override { return names_.contains(path); }
  [[nodiscard]] std::unique_ptr<ByteSource> open(const std::string& path) const override {
    return std::make_unique<TarMember>(archive_, path);
  }

 private:
  static constexpr std::size_t most_names = 4000;
  // Zeros, however many, are a tar that ends at once.
  static std::string_view nothing_in_it(bool has_end_marker) {
    return has_end_marker ? "there is nothing in it: it begins with zeros, as an empty tar archive does"
                          : "it is empty: 0 bytes are no archive";
  }
  [[nodiscard]] bool is_layout() const {
    return names_.contains("index.json") || names_.contains("manifest.json");
  }

  std::filesystem::path archive_;
  std::set<std::string> names_;
};

}  // namespace

std::unique_ptr<Layout> directory_layout(const std::filesystem::path& directory) {
  return std::make_unique<DirectoryLayout>(directory);
}

std::unique_ptr<Layout> tar_layout(const std::filesystem::path& archive) {
  return std::make_unique<TarLayout>(archive);
}

}  // namespace longship::image
