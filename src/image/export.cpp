// SPDX-License-Identifier: Apache-2.0
#include "export.h"

#include <fcntl.h>

#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "box/unpack.h"
#include "directory_writer.h"
#include "gzip_writer.h"
#include "layer.h"
#include "layout_writer.h"
#include "make.h"
#include "open_image.h"
#include "tar_writer.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view aside_prefix = ".longship-export";

fs::path parent_of(const fs::path& path) {
  return path.parent_path().empty() ? fs::path(".") : path.parent_path();
}

void copy_bytes(const fs::path& from, const fs::path& to) {
  PendingFile file(to, 0644);
  FileSource source(open_file(from, O_RDONLY));
  std::string buffer(1u << 20, '\0');
  while (const auto got = source.read(buffer.data(), buffer.size()))
    write_all(file.fd(), {buffer.data(), got});
  file.commit();
}

void export_tar(const fs::path& root, const fs::path& path, Progress& progress) {
  PendingFile file(path, 0644);
  std::uint64_t done = 0;
  const auto sink = [&](std::string_view bytes) { write_all(file.fd(), bytes); };
  if (path.string().ends_with("gz")) {
    GzipWriter gzip(sink);
    write_tar(root, [&](std::string_view bytes) {
      gzip.write(bytes);
      progress.update(done += bytes.size());
    });
    gzip.finish();
  } else {
    write_tar(root, [&](std::string_view bytes) {
      sink(bytes);
      progress.update(done += bytes.size());
    });
  }
  file.commit();
}

// A directory made aside, and given its name when it is complete.
template <class Fill>
void fill_directory(const fs::path& path, Fill&& fill) {
  TemporaryDirectory aside(aside_prefix, parent_of(path));
  fill(aside.path());
  fs::permissions(aside.path(), fs::perms(0755));
  fs::rename(aside.path(), path);
  static_cast<void>(aside.keep());
}

void archive_layout(const fs::path& layout, const fs::path& path) {
  PendingFile file(path, 0644);
  TarWriter writer([&](std::string_view bytes) { write_all(file.fd(), bytes); });
  directory_layer(layout)->read(writer);
  writer.finish();
  file.commit();
}

void require_absence(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored)))
    throw Error("it is there already: remove it, or choose another name");
}

void write_as(const fs::path& root, const store::Image& image, const fs::path& path, Format format,
              Progress& progress) {
  switch (format) {
    case Format::oci:
      return fill_directory(path, [&](const fs::path& aside) { write_layout(root, image, aside, progress); });
    case Format::oci_archive: {
      const TemporaryDirectory aside(aside_prefix, parent_of(path));
      write_layout(root, image, aside.path(), progress);
      return archive_layout(aside.path(), path);
    }
    case Format::tar:
      return export_tar(root, path, progress);
    case Format::squashfs:
      return copy_bytes(root, path);
    case Format::directory:
      return fill_directory(path, [&](const fs::path& aside) {
        box::unpack(open_file(root, O_RDONLY).get(), root, open_file(aside, O_RDONLY | O_DIRECTORY).get());
      });
  }
}

// The tree beside a place for files that are in the way of each other; only the tree gets its name.
void write_directory(Layers& layers, const fs::path& path) {
  const TemporaryDirectory aside(aside_prefix, parent_of(path));
  const auto tree = aside.path() / "tree", spare = aside.path() / "spare";
  fs::create_directory(tree);
  fs::create_directory(spare);
  const Fd tree_fd = open_file(tree, O_RDONLY | O_DIRECTORY),
           spare_fd = open_file(spare, O_RDONLY | O_DIRECTORY);
  DirectoryWriter writer(tree_fd.get(), spare_fd.get());
  static_cast<void>(write_layers(writer, layers));
  fs::rename(tree, path);
}

// Tar and OCI want the names in order, which is known at the end only.
void convert_by_way_of_a_file(OpenedImage opened, const fs::path& from, const fs::path& path, Format format,
                              Progress& progress) {
  const TemporaryDirectory aside(aside_prefix, parent_of(path));
  const auto root = aside.path() / "root.sqfs";
  const Fd file = open_file(root, O_RDWR | O_CREAT | O_EXCL, 0600);
  const auto content = write_squashfs(file.get(), opened.image.layers);
  store::Image image;
  image.name = "latest";
  image.config = opened.image.config;
  image.facts = content.facts;
  image.files = content.files;
  image.created = static_cast<std::int64_t>(std::time(nullptr));
  image.origin = "convert " + from.filename().string();
  write_as(root, image, path, format, progress);
}

}  // namespace

Format format_of(std::string_view name, const fs::path& path) {
  if (name == "oci") return Format::oci;
  if (name == "oci-archive") return Format::oci_archive;
  if (name == "tar") return Format::tar;
  if (name == "squashfs") return Format::squashfs;
  if (name == "directory") return Format::directory;
  if (!name.empty()) {
    const std::vector<std::string> known = {"oci", "oci-archive", "tar", "squashfs", "directory"};
    throw Error(Failure::usage, "there is no format \"{}\"{} (there are: {})", printable(name),
                suggestion(name, known), join(known, ", "));
  }
  const std::string text = path.string();
  if (text.ends_with(".oci.tar")) return Format::oci_archive;
  if (text.ends_with(".tar") || text.ends_with(".tar.gz") || text.ends_with(".tgz")) return Format::tar;
  if (text.ends_with(".sqfs") || text.ends_with(".squashfs") || text.ends_with(".sif"))
    return Format::squashfs;
  return Format::oci;
}

void export_image(const fs::path& root, const store::Image& image, const fs::path& path, Format format,
                  Progress& progress) {
  within(fmt::format("cannot export {} to {}", image.name, path.string()), [&] {
    require_absence(path);
    progress.begin("exporting", 0, "B");
    write_as(root, image, path, format, progress);
    progress.end();
  });
}

void convert(const fs::path& from, const fs::path& path, Format format, Progress& progress) {
  within(fmt::format("cannot convert {} to {}", from.string(), path.string()), [&] {
    require_absence(path);
    std::uint64_t done = 0;
    OpenedImage opened = open_image(from, [&](std::size_t bytes) { progress.update(done += bytes); });
    progress.begin("converting", 0, "B");
    if (format == Format::squashfs) {
      PendingFile file(path, 0644);
      static_cast<void>(write_squashfs(file.fd(), opened.image.layers));
      file.commit();
    } else if (format == Format::directory) {
      write_directory(opened.image.layers, path);
    } else {
      convert_by_way_of_a_file(std::move(opened), from, path, format, progress);
    }
    progress.end();
  });
}

}  // namespace longship::image
