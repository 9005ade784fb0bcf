// SPDX-License-Identifier: Apache-2.0
// Layers → one tree → one SquashFS file or directory, in one pass.
//
// Layers are read from the top down: when a name comes, everything that could hide it has been seen, so
// hidden files are never stored. A node remembers the layer that closed it: nothing from further down gets in
// at or beneath a whiteout, an opaque directory, or anything that is not a directory. Within one layer a
// later member replaces an earlier one, as when a tar is unpacked.
//
// Only a hard link can need what is hidden: a layer links b to a, and one above it removes a. Such a layer is
// read once more for the contents of just these.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "facts.h"
#include "image_writer.h"
#include "layer.h"
#include "tree.h"

namespace longship::image {

class Merge final : private MemberSink {
 public:
  explicit Merge(ImageWriter& writer);

  void add_layer(Layer& layer);  // the top one first
  // Adds the places that a box binds things to, writes inodes and directories.
  [[nodiscard]] ImageSummary finish();
  [[nodiscard]] const store::Facts& facts() const { return facts_.found(); }

 private:
  void add(const Member& member, ByteSource& content) override;
  void add_directory(Node& node, const Member& member);
  void add_other(Node& node, const Member& member, ByteSource& content);
  void add_link(Node& node, const Member& member);
  [[nodiscard]] Node* place(std::string_view path);
  [[nodiscard]] bool replaceable(Node& node);
  void fill(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content);

  // Hard links whose target is hidden: target → the names that link to it.
  void find_missing_targets(Layer& layer);
  void link_all(const std::string& target, const std::shared_ptr<Inode>& inode);
  void fetch(const Member& member, ByteSource& content);
  void follow_links_of_parents();

  ImageWriter& writer_;
  FactFinder facts_;
  Node root_;
  int layer_ = -1;
  bool fetching_ = false;
  std::set<std::string> hidden_;  // in the layer being read
  std::map<std::string, std::vector<std::string>> missing_;
  std::map<std::string, std::string>
      parents_;  // directories nobody named, that are symbolic links further down
};

}  // namespace longship::image
