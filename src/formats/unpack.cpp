// SPDX-License-Identifier: Apache-2.0
// Unpacking a code bundle that somebody else packed: nothing is believed, nothing is made outside, nothing is
// followed.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "archive.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "member.h"
#include "units.h"
#include "zstd_stream.h"

namespace longship::formats {
namespace {

namespace fs = std::filesystem;

class Unpacker {
 public:
  Unpacker(ZstdReader& archive, int root, const UnpackOptions& options)
      : archive_(archive), root_(root), options_(options) {}

  void run() {
    TarHeaders headers;
    for (;;) {
      const auto block = read_exactly(tar_block);
      if (block.find_first_not_of('\0') == std::string::npos) break;
      const auto next = headers.block(block);
      if (next.complete)
        make(next.member);
      else
        headers.pax(read_padded(next.pax_size));
    }
    if (read_exactly(tar_block).find_first_not_of('\0') != std::string::npos)
      throw Error("one block of zeros in the midst of the archive");
    archive_.finish();
  }

 private:
  void make(const Member& member) {
    if (++entries_ > options_.most_entries) throw Error("more than {} entries", options_.most_entries);
    const auto slash = member.name.rfind('/');
    const auto name = slash == std::string::npos ? member.name : member.name.substr(slash + 1);
    const int parent = open_parent(slash == std::string::npos ? "" : member.name.substr(0, slash));
    const auto done = [&](int result) {
      if (result < 0) throw Error::from_errno(errno, "cannot make {}", printable(member.name));
    };
    switch (member.kind) {
      case Member::Kind::directory:
        return done(::mkdirat(parent, name.c_str(), 0755));
      case Member::Kind::link:
        return done(::symlinkat(member.target.c_str(), parent, name.c_str()));
      case Member::Kind::file:
        break;
    }
    const unsigned mode = member.executable ? 0755 : 0644;
    // Only a file that was not there: a name that comes twice is an error, and no link can be written
    // through.
    const Fd file(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    done(file.get());
    copy(file.get(), member);
  }

  // Members of one directory come one after the other, so it is opened once.
  int open_parent(const std::string& path) {
    if (path.empty()) return root_;
    if (!parent_ || path != parent_path_) {
      parent_ = open_beneath(root_, path, O_PATH | O_DIRECTORY);
      parent_path_ = path;
    }
    return parent_.get();
  }

  void copy(int file, const Member& member) {
    if (member.size > options_.limit - bytes_)
      throw Error("unpacks to more than the limit of {}", human_bytes(options_.limit));
    bytes_ += member.size;
    std::vector<char> buffer(std::min<std::uint64_t>(member.size, 1u << 18));
    for (std::uint64_t left = member.size; left > 0;) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
      fill(buffer.data(), wanted);
      within(printable(member.name), [&] { write_all(file, {buffer.data(), wanted}); });
      left -= wanted;
    }
    skip_padding(member.size);
  }

  std::string read_padded(std::size_t size) {
    auto bytes = read_exactly(size);
    skip_padding(size);
    return bytes;
  }

  void skip_padding(std::uint64_t size) {
    const auto padding = read_exactly(tar_padding(size));
    if (padding.find_first_not_of('\0') != std::string::npos) throw Error("padding that is not zeros");
  }

  std::string read_exactly(std::size_t size) {
    std::string bytes(size, '\0');
    fill(bytes.data(), size);
    return bytes;
  }

  void fill(char* buffer, std::size_t size) {
    if (archive_.read(buffer, size) != size) throw Error("the archive ends within a member");
  }

  ZstdReader& archive_;
  int root_;
  const UnpackOptions& options_;
  Fd parent_;
  std::string parent_path_;
  std::uint64_t bytes_ = 0, entries_ = 0;
};

}  // namespace

void unpack_bundle(const fs::path& archive, const fs::path& directory, const UnpackOptions& options) {
  within(fmt::format("cannot unpack the bundle {}", printable(archive.string())), [&] {
    const auto file = open_file(archive, O_RDONLY);
    const auto target = fs::absolute(directory);
    TemporaryDirectory aside(".unpacking", target.parent_path());
    const auto root = open_file(aside.path(), O_RDONLY | O_DIRECTORY);
    ZstdReader reader(file.get());
    Unpacker(reader, root.get(), options).run();
    if (const auto found = reader.digest(); !options.digest.empty() && found != options.digest)
      throw Error("its digest is {}, not {}", found, options.digest);
    if (::rename(aside.path().c_str(), target.c_str()) != 0)
      throw Error::from_errno(errno, "cannot make {}", printable(target.string()));
    (void)aside.keep();
  });
}

}  // namespace longship::formats
