// SPDX-License-Identifier: Apache-2.0
// Writes an image as a directory. Files belong to the caller; set-id bits, sockets and fifos are left out.
//
// Contents are written as they come, each at its member's own path, into a tree that has nothing but files
// and directories: no link that a layer brings exists before everything else is in its place, so none can
// lead a write elsewhere. At the end files that turned out to be named otherwise are moved, then hard links
// are made, then symbolic ones, then directories get their modes and times.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "image_writer.h"

namespace longship::image {

class DirectoryWriter final : public ImageWriter {
 public:
  // Two empty directories on the same file system, that nobody else writes to; the second for files whose
  // place is taken. Both outlive this.
  DirectoryWriter(int tree, int spare) : tree_(tree), spare_(spare) {}

  void store(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) override;
  [[nodiscard]] ImageSummary finish(Node& root) override;

 private:
  struct Stored {
    std::shared_ptr<Inode> inode;
    std::string path;
    bool is_spare = false;  // it is in the other directory, by its number
    bool is_home = false;   // the path is the first of its names
  };
  struct Named {
    std::string path;
    const Inode* inode;
  };

  void write(int file, const std::string& path, ByteSource& content);
  [[nodiscard]] int create(Stored& stored);
  bool make_parents(const std::string& path);
  void find_homes(const Node& directory, const std::string& path);
  void move_strays();
  void remove_strange_directories(Node& root);
  void complete(const Node& directory, const std::string& path);
  void place_file(const Inode& inode, const std::string& path);
  void make_symlinks();
  void close_directories();
  void set_attributes(const Named& name);

  int tree_, spare_;
  std::vector<Stored> stored_;  // inode.number is the place here, from 1
  std::set<std::string> made_;  // directories
  std::vector<Named> directories_, symlinks_;
  std::vector<char> buffer_ = std::vector<char>(256u << 10);
  std::uint64_t files_ = 0;
};

}  // namespace longship::image
