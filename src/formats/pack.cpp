// SPDX-License-Identifier: Apache-2.0
// Writing the code bundle.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "archive.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tree.h"
#include "units.h"
#include "zstd_stream.h"

namespace longship::formats {
namespace {

namespace fs = std::filesystem;

constexpr int attempts = 3;

// A file was written to between our first look and our last: the whole is begun again.
class Changed : public Error {
 public:
  explicit Changed(const std::string& name)
      : Error("{} changes while it is being read: list it in .longshipignore, or wait for what writes it",
              printable(name)) {}
};

IgnoreList ignore_list(const fs::path& directory, const BundleOptions& options) {
  IgnoreList ignored;
  for (const auto& pattern : options.ignore) ignored.add_pattern(pattern);
  const auto file = directory / ".longshipignore";
  if (fs::exists(fs::symlink_status(file))) ignored.add_lines(read_file(file, std::size_t{1} << 20));
  return ignored;
}

void check_limits(const Tree& tree, const BundleOptions& options) {
  constexpr std::string_view remedy =
      "List what the job does not need in .longshipignore, one pattern a line.";
  if (!tree.complete)
    throw Error(Failure::usage, "more than {} files and directories; where the most are:{}\n{}",
                options.most_entries, largest(tree, Weight::entries, 10), remedy);
  if (tree.bytes > options.limit)
    throw Error(Failure::usage, "{}, more than the limit of {}; what is largest:{}\n{}",
                human_bytes(tree.bytes), human_bytes(options.limit), largest(tree, Weight::bytes, 10),
                remedy);
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

struct stat status_of(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error::from_errno(errno, "cannot look at {}", printable(name));
  return status;
}

Fd open_member(int directory, const std::string& name) {
  try {
    // Not blocking, so that a pipe that took the file's place does not hold us.
    return open_beneath(directory, name, O_RDONLY | O_NONBLOCK);
  } catch (const Error& error) {
    if (error.number() == ENOENT || error.number() == ELOOP || error.number() == ENOTDIR) throw Changed(name);
    if (error.number() == 0) throw;
    throw Error::from_errno(error.number(), "cannot read {}", printable(name));
  }
}

std::size_t read_some(int fd, std::vector<char>& buffer, std::uint64_t most, const std::string& name) {
  for (;;) {
    const auto count = ::read(fd, buffer.data(), std::min<std::uint64_t>(buffer.size(), most));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw Error::from_errno(errno, "cannot read {}", printable(name));
  }
}

void write_contents(ZstdWriter& archive, int directory, const Member& member) {
  const auto fd = open_member(directory, member.name);
  const auto before = status_of(fd.get(), member.name);
  if (!S_ISREG(before.st_mode) || static_cast<std::uint64_t>(before.st_size) != member.size)
    throw Changed(member.name);
  std::vector<char> buffer(std::min<std::uint64_t>(member.size, 1u << 18) + 1);
  std::uint64_t left = member.size;
  while (left > 0) {
    const auto count = read_some(fd.get(), buffer, left, member.name);
    if (count == 0) throw Changed(member.name);
    archive.write({buffer.data(), count});
    left -= count;
  }
  const auto after = status_of(fd.get(), member.name);
  if (after.st_size != before.st_size || !same_time(after.st_mtim, before.st_mtim))
    throw Changed(member.name);
  archive.write(std::string(tar_padding(member.size), '\0'));
}

Bundle write_archive(int directory, const Tree& tree, const fs::path& path) {
  PendingFile file(path);
  ZstdWriter archive(file.fd());
  Bundle bundle;
  for (const auto& member : tree.members) {
    archive.write(tar_header(member));
    if (member.kind == Member::Kind::file) write_contents(archive, directory, member);
    if (member.kind != Member::Kind::directory) ++bundle.files;
  }
  archive.write(std::string(2 * tar_block, '\0'));
  archive.finish();
  file.commit();
  bundle.digest = archive.digest();
  bundle.bytes = tree.bytes;
  bundle.packed = archive.packed();
  return bundle;
}

Bundle pack_once(const fs::path& directory, const fs::path& archive, const BundleOptions& options) {
  const auto root = open_file(directory, O_RDONLY | O_DIRECTORY);
  const auto tree = look_through(root.get(), ignore_list(directory, options), options.most_entries);
  check_limits(tree, options);
  return write_archive(root.get(), tree, archive);
}

}  // namespace

Bundle pack_bundle(const fs::path& directory, const fs::path& archive, const BundleOptions& options) {
  return within(fmt::format("cannot bundle {}", printable(directory.string())), [&] {
    for (int attempt = 1;; ++attempt) {
      try {
        return pack_once(directory, archive, options);
      } catch (const Changed&) {
        if (attempt == attempts) throw;
      }
    }
  });
}

}  // namespace longship::formats
