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
//
// The tree is all that is held in memory, and what a few kilobytes of a layer unpack to must not fill that:
// it may not grow beyond a limit.
#pragma once
#include <cstdint>
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
  static constexpr std::uint64_t largest_tree = std::uint64_t{2} << 30;  // bytes: some six million names

  explicit Merge(ImageWriter& writer, std::uint64_t most_memory = largest_tree);

  void add_layer(Layer& layer);  // the top one first
  // Adds the places that a box binds things to, writes inodes and directories.
  [[nodiscard]] ImageSummary finish();
  [[nodiscard]] const store::Facts& facts() const { return facts_.found(); }

 private:
  // What a name and what it stands for take, with what the containers and the SquashFS writer need for them.
  static constexpr std::size_t weight_of_name = sizeof(Node) + 96;
  static constexpr std::size_t weight_of_inode = sizeof(Inode) + 192;
  static constexpr std::size_t weight_of_record = 96;     // in one of the maps by name
  static constexpr std::size_t weight_of_attribute = 96;  // and thrice its bytes: the writer keeps hex digits

  void add(const Member& member, ByteSource& content) override;
  void add_directory(Node& node, const Member& member);
  void add_other(Node& node, const Member& member, ByteSource& content);
  void add_link(Node& node, const Member& member);
  [[nodiscard]] Node* place(std::string_view path);
  [[nodiscard]] bool replaceable(Node& node);
  [[nodiscard]] std::shared_ptr<Inode> inode_of(const Member& member);
  void hold(std::size_t bytes);
  void fill(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content);

  // In merge_links.cpp: hard links whose target is not there, or hidden.
  void find_missing_targets(Layer& layer);
  void follow_links();
  [[nodiscard]] std::string end_of_links(const std::string& name);
  void link_all(const std::string& target, const std::shared_ptr<Inode>& inode);
  void fetch(const Member& member, ByteSource& content);
  void follow_links_of_parents();

  ImageWriter& writer_;
  FactFinder facts_;
  Node root_;
  int layer_ = -1;
  bool fetching_ = false;
  std::uint64_t held_ = 0, most_memory_;
  // In the layer being read: hidden files, and hard links of which only another name is known.
  std::set<std::string> hidden_;
  std::map<std::string, std::string> links_;
  std::map<std::string, std::vector<std::string>> missing_;  // target → the names that link to it
  std::map<std::string, std::string>
      parents_;  // directories nobody named, that are symbolic links further down
};

}  // namespace longship::image
