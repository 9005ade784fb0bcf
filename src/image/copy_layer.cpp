// SPDX-License-Identifier: Apache-2.0
#include "copy_layer.h"

#include <fcntl.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/digest.h"

namespace longship::image {
namespace {
namespace fs = std::filesystem;

class Moved final : public MemberSink {
 public:
  Moved(MemberSink& sink, std::string prefix) : sink_(sink), prefix_(std::move(prefix)) {}
  void add(const Member& member, ByteSource& content) override {
    Member moved = member;
    moved.path = normal_path(prefix_ + "/" + member.path);
    if (moved.kind == Kind::hard_link) moved.link = normal_path(prefix_ + "/" + member.link);
    // The destination itself may be there already, with a mode of its own.
    if (member.path.empty()) return;
    sink_.add(moved, content);
  }

 private:
  MemberSink& sink_;
  std::string prefix_;
};

class CopyLayer final : public Layer {
 public:
  explicit CopyLayer(Copy copy)
      : copy_(std::move(copy)), root_(open_file(copy_.context, O_RDONLY | O_DIRECTORY)) {
    for (const auto& source : copy_.sources) add_matches(source);
  }
  [[nodiscard]] std::string name() const override { return "COPY"; }

  void read(MemberSink& sink) override {
    const bool into_directory = copy_.destination.ends_with('/') || sources_.size() > 1;
    for (const auto& source : sources_) {
      Fd fd = open_source(source, O_RDONLY | O_NONBLOCK);  // a fifo must not hold us
      const auto status = fs::status(behind(fd));
      if (fs::is_directory(status)) {
        read_directory(source, fd, sink);
      } else if (fs::is_regular_file(status)) {
        const std::string target = into_directory
                                       ? copy_.destination + "/" + fs::path(source).filename().string()
                                       : copy_.destination;
        read_file(std::move(fd), status, normal_path(target), sink);
      } else {
        throw Error("{} is neither a file nor a directory", printable(source));
      }
    }
  }

 private:
  // Links in the context lead nowhere but into the context.
  [[nodiscard]] Fd open_source(const std::string& source, int flags) const {
    return open_beneath(root_.get(), source.empty() ? "." : source, flags | O_CLOEXEC, 0, Links::confine);
  }

  // What was opened, under a name that means it and nothing else.
  static fs::path behind(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

  void read_directory(const std::string& source, const Fd& fd, MemberSink& sink) const {
    Moved moved(sink, copy_.destination);
    directory_layer(behind(fd), [&](const std::string& path, bool directory) {
      return copy_.ignored && copy_.ignored(source.empty() ? path : source + "/" + path, directory);
    })->read(moved);
  }

  static void read_file(Fd fd, const fs::file_status& status, const std::string& target, MemberSink& sink) {
    Member member;
    member.path = target;
    member.mode = static_cast<unsigned>(status.permissions()) & 07777u;
    member.size = fs::file_size(behind(fd));
    FileSource content(std::move(fd));
    sink.add(member, content);
  }

  void add_matches(const std::string& source) {
    const std::string normal = normal_path(source);
    if (normal.find_first_of("*?[") == std::string::npos) {
      const Fd found = open_source(normal, O_PATH);
      if (copy_.ignored && !normal.empty() && copy_.ignored(normal, fs::is_directory(behind(found))))
        throw Error("{} is left out by .dockerignore", printable(source));
      sources_.push_back(normal);
      return;
    }
    const auto slash = normal.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : normal.substr(0, slash);
    const std::string pattern = slash == std::string::npos ? normal : normal.substr(slash + 1);
    std::vector<std::string> matches;
    const Fd opened = open_source(directory, O_RDONLY | O_DIRECTORY);
    for (const auto& entry : fs::directory_iterator(behind(opened))) {
      const std::string name = entry.path().filename().string();
      const std::string path = directory.empty() ? name : directory + "/" + name;
      if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
      if (copy_.ignored && copy_.ignored(path, entry.is_directory())) continue;
      matches.push_back(path);
    }
    if (matches.empty()) throw Error("nothing in the context matches {}", printable(source));
    std::sort(matches.begin(), matches.end());
    sources_.insert(sources_.end(), matches.begin(), matches.end());
  }

  Copy copy_;
  Fd root_;
  std::vector<std::string> sources_;  // normal paths
};

class EmptyDirectory final : public Layer {
 public:
  explicit EmptyDirectory(std::string path) : path_(normal_path(path)) {}
  [[nodiscard]] std::string name() const override { return "WORKDIR"; }
  void read(MemberSink& sink) override {
    // Named by something beneath it, which is then gone again: a directory that is there keeps its mode.
    Member member;
    member.kind = Kind::whiteout;
    member.path = path_ + "/.longship-none";
    MemorySource nothing("");
    sink.add(member, nothing);
  }

 private:
  std::string path_;
};

class Digesting final : public MemberSink {
 public:
  void add(const Member& member, ByteSource& content) override {
    field(member.path);
    field(std::to_string(static_cast<int>(member.kind)) + " " + std::to_string(member.mode & 0777u));
    field(member.link);
    formats::Sha256 bytes;
    std::vector<char> piece(64 * 1024);
    if (member.kind == Kind::file)
      while (const std::size_t got = content.read(piece.data(), piece.size()))
        bytes.update({piece.data(), got});
    field(bytes.digest());
  }
  [[nodiscard]] std::string digest() { return all_.digest(); }

 private:
  void field(std::string_view text) {
    all_.update(std::to_string(text.size()) + ":");
    all_.update(text);
  }
  formats::Sha256 all_;
};

}  // namespace

std::unique_ptr<Layer> copy_layer(Copy copy) {
  return std::make_unique<CopyLayer>(std::move(copy));
}

std::unique_ptr<Layer> empty_directory_layer(std::string path) {
  return std::make_unique<EmptyDirectory>(std::move(path));
}

std::string digest_of(Layer& layer) {
  Digesting sink;
  layer.read(sink);
  return sink.digest();
}

}  // namespace longship::image
