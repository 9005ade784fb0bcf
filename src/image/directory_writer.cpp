// SPDX-License-Identifier: Apache-2.0
#include "directory_writer.h"

#include <fcntl.h>
#include <isa-l/mem_routines.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::size_t least_hole = 4096;

[[noreturn]] void fail(const std::string& path) {
  throw Error::from_errno(errno, "cannot write {}", printable(path));
}

std::string within_directory(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

void set_times(int directory, const std::string& path, std::int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  // A time that the file system cannot hold is no reason to fail.
  static_cast<void>(::utimensat(directory, path.c_str(), times, AT_SYMLINK_NOFOLLOW));
}

void set_times(int fd, std::int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  static_cast<void>(::futimens(fd, times));
}

// Not every file system keeps extended attributes, and what is in an image works without.
void set_attributes_of(int fd, const Attributes& attributes) {
  for (const auto& [name, value] : attributes)
    static_cast<void>(::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0));
}

bool is_zero(std::string_view bytes) {
  return isal_zero_detect(const_cast<char*>(bytes.data()), bytes.size()) == 0;  // which only reads
}

}  // namespace

// Zeros become holes: a layer that has nothing but them does not fill the disk.
void DirectoryWriter::write(int file, const std::string& path, ByteSource& content) {
  off_t size = 0;
  bool ends_in_hole = false;
  for (auto bytes = content.take(buffer_); !bytes.empty(); bytes = content.take(buffer_)) {
    size += static_cast<off_t>(bytes.size());
    ends_in_hole = bytes.size() >= least_hole && is_zero(bytes);
    if (!ends_in_hole)
      write_all(file, bytes);
    else if (::lseek(file, size, SEEK_SET) != size)
      fail(path);
  }
  if (ends_in_hole && ::ftruncate(file, size) != 0) fail(path);
}

void DirectoryWriter::store(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) {
  stored_.push_back({inode, member.path});
  inode->number = static_cast<std::uint32_t>(stored_.size());
  const Fd file(create(stored_.back()));
  if (!file) fail(member.path);
  write(file.get(), member.path, content);
  if (!inode->attributes.empty()) set_attributes_of(file.get(), inode->attributes);
  if (::fchmod(file.get(), (inode->mode & 0777u) | S_IRUSR) != 0) fail(member.path);
  set_times(file.get(), inode->mtime);
}

// Its own path, unless an earlier member of the same layer, or one of a layer above, has it or a part of it.
int DirectoryWriter::create(Stored& stored) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int file = ::openat(tree_, stored.path.c_str(), flags, 0600);
  if (file < 0 && errno == ENOENT && make_parents(stored.path))
    file = ::openat(tree_, stored.path.c_str(), flags, 0600);
  if (file >= 0 || (errno != EEXIST && errno != ENOTDIR)) return file;
  stored.is_spare = true;
  return ::openat(spare_, std::to_string(stored.inode->number).c_str(), flags, 0600);
}

bool DirectoryWriter::make_parents(const std::string& path) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (::mkdirat(tree_, parent.c_str(), 0700) == 0)
      made_.insert(parent);
    else if (errno != EEXIST)
      return false;
  }
  return true;
}

ImageSummary DirectoryWriter::finish(Node& root) {
  find_homes(root, "");
  move_strays();
  remove_strange_directories(root);
  complete(root, "");
  make_symlinks();
  directories_.push_back({".", root.inode.get()});
  close_directories();
  return {files_, 0};
}

void DirectoryWriter::find_homes(const Node& directory, const std::string& path) {
  for (const auto& [name, child] : directory.children) {
    if (child->inode == nullptr) continue;
    const std::string full = within_directory(path, name);
    if (child->is_directory()) {
      find_homes(*child, full);
    } else if (child->inode->kind == Kind::file && ++child->inode->names == 1) {
      auto& stored = stored_.at(child->inode->number - 1);
      stored.is_home = !stored.is_spare && stored.path == full;
    }
  }
}

void DirectoryWriter::move_strays() {
  for (auto& stored : stored_) {
    if (stored.is_home || stored.is_spare) continue;
    const std::string number = std::to_string(stored.inode->number);
    if (::renameat(tree_, stored.path.c_str(), spare_, number.c_str()) != 0) fail(stored.path);
    stored.is_spare = true;
  }
}

// Directories that were made for a file, and whose name then became something else.
void DirectoryWriter::remove_strange_directories(Node& root) {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    const Node* node = find(root, *path);
    if (node != nullptr && node->is_directory()) continue;
    if (::unlinkat(tree_, path->c_str(), AT_REMOVEDIR) != 0) fail(*path);
  }
}

void DirectoryWriter::complete(const Node& directory, const std::string& path) {
  for (const auto& [name, child] : directory.children) {
    if (child->inode == nullptr) continue;
    const std::string full = within_directory(path, name);
    if (child->is_directory()) {
      if (!made_.contains(full) && ::mkdirat(tree_, full.c_str(), 0700) != 0) fail(full);
      complete(*child, full);
      directories_.push_back({full, child->inode.get()});
      continue;
    }
    ++files_;
    if (child->inode->kind == Kind::file) place_file(*child->inode, full);
    if (child->inode->kind == Kind::symlink) symlinks_.push_back({full, child->inode.get()});
  }
}

void DirectoryWriter::place_file(const Inode& inode, const std::string& path) {
  auto& stored = stored_.at(inode.number - 1);
  if (stored.is_home && stored.path == path) return;
  if (!stored.is_spare) {
    if (::linkat(tree_, stored.path.c_str(), tree_, path.c_str(), 0) != 0) fail(path);
    return;
  }
  const std::string number = std::to_string(inode.number);
  if (::renameat(spare_, number.c_str(), tree_, path.c_str()) != 0) fail(path);
  stored = {stored.inode, path, false, true};
}

void DirectoryWriter::make_symlinks() {
  for (const auto& [path, inode] : symlinks_) {
    if (::symlinkat(inode->link.c_str(), tree_, path.c_str()) != 0) fail(path);
    set_times(tree_, path, inode->mtime);
  }
}

// Innermost first: to change what is in a directory changes its time.
void DirectoryWriter::close_directories() {
  for (const auto& name : directories_) {
    const auto& [path, inode] = name;
    if (!inode->attributes.empty()) set_attributes(name);
    if (::fchmodat(tree_, path.c_str(), (inode->mode & 01777u) | S_IRWXU, 0) != 0) fail(path);
    set_times(tree_, path, inode->mtime);
  }
}

void DirectoryWriter::set_attributes(const Named& name) {
  const Fd directory(::openat(tree_, name.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) fail(name.path);
  set_attributes_of(directory.get(), name.inode->attributes);
}

}  // namespace longship::image
