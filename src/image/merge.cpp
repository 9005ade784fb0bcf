// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"

namespace longship::image {
namespace {

using Names = decltype(Node::children);

constexpr std::uint64_t largest_file = std::uint64_t{128}
                                       << 30;      // libsquashfs holds its blocks' sizes on the stack
constexpr std::size_t largest_attribute = 65'536;  // Linux has no larger ones

std::shared_ptr<Inode> unnamed_directory() {
  return std::make_shared<Inode>();
}

// Where a symbolic link at `path` leads by its text alone, as a normal path.
std::string target_of(std::string_view path, std::string_view link) {
  std::vector<std::string> parts;
  const auto walk = [&](std::string_view text) {
    for (const auto part : split(text, '/')) {
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.emplace_back(part);
      } else if (!parts.empty()) {
        parts.pop_back();
      }
    }
  };
  if (const auto slash = path.rfind('/'); !link.starts_with('/') && slash != std::string_view::npos)
    walk(path.substr(0, slash));
  walk(link);
  return join(parts, "/");
}

// Moves all names of one directory into another; a name that both have becomes the moved one, directories
// become one. The names are the caller's no more: what they come from may itself lie in `to` and be replaced.
void move_names(Names names, Node& to) {
  for (auto& [name, child] : names) {
    if (child->inode == nullptr) continue;
    auto& place = to.children[name];
    if (place != nullptr && place->is_directory() && child->is_directory()) {
      move_names(std::move(child->children), *place);
    } else {
      place = std::move(child);
    }
  }
}

// Where boxes bind things. What the image has there already stays, be it a symbolic link.
void add_mount_points(Node& root, ImageWriter& writer) {
  constexpr std::array<std::string_view, 11> directories = {
      "proc", "sys", "dev", "tmp", "run", "home", "root", "etc", "job", "opt/longship", "var/tmp"};
  constexpr std::array<std::string_view, 4> files = {"etc/resolv.conf", "etc/hosts", "etc/passwd",
                                                     "etc/group"};
  const auto add = [&](std::string_view path, bool directory) {
    Node* node = &root;
    const auto parts = split(path, '/');
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!node->is_directory()) return;
      auto& child = node->children[std::string(parts[i])];
      if (child == nullptr) child = std::make_unique<Node>();
      node = child.get();
      if (node->inode != nullptr) continue;
      node->inode = std::make_shared<Inode>();
      if (path == "tmp" || path == "var/tmp") node->inode->mode = 01777;
      if (directory || i + 1 < parts.size()) continue;
      node->inode->kind = Kind::file;
      node->inode->mode = 0644;
      Member file;
      file.path = path;
      file.mode = node->inode->mode;
      MemorySource nothing("");
      writer.store(node->inode, file, nothing);
    }
  };
  for (const auto path : directories) add(path, true);
  for (const auto path : files) add(path, false);
}

}  // namespace

Merge::Merge(ImageWriter& writer, std::uint64_t most_memory) : writer_(writer), most_memory_(most_memory) {
  root_.inode = unnamed_directory();
}

void Merge::add_layer(Layer& layer) {
  ++layer_;
  hidden_.clear();
  links_.clear();
  within(layer.name(), [&] {
    layer.read(*this);
    find_missing_targets(layer);
  });
}

void Merge::add(const Member& member, ByteSource& content) {
  if (fetching_) return fetch(member, content);
  Node* node = place(member.path);
  if (node == nullptr) {
    hold(weight_of_record + member.path.size() + member.link.size());
    links_.erase(member.path);
    if (member.kind == Kind::file) hidden_.insert(member.path);
    if (member.kind == Kind::hard_link) links_.insert_or_assign(member.path, member.link);
    return;
  }
  switch (member.kind) {
    case Kind::opaque:
      if (node->inode == nullptr) node->inode = unnamed_directory();
      [[fallthrough]];
    case Kind::whiteout:
    case Kind::device:  // useless without privileges, but it hides what is below
      node->closed = std::min(node->closed, layer_);
      return;
    case Kind::directory:
      return add_directory(*node, member);
    case Kind::hard_link:
      return add_link(*node, member);
    default:
      return add_other(*node, member, content);
  }
}

// Walks down to the name, making directories that nobody has named yet; null if a layer above hides it.
Node* Merge::place(std::string_view path) {
  Node* node = &root_;
  if (path.empty()) return node->closed < layer_ ? nullptr : node;
  for (const auto name : split(path, '/')) {
    if (node->closed < layer_) return nullptr;
    if (node->inode == nullptr) node->inode = unnamed_directory();
    if (!node->is_directory())
      throw Error("it lies in {}, which in the same layer is not a directory",
                  printable(path.substr(0, static_cast<std::size_t>(name.data() - path.data()))));
    auto& child = node->children[std::string(name)];
    if (child == nullptr) {
      hold(weight_of_name + weight_of_inode + name.size());  // it may become a directory without being named
      child = std::make_unique<Node>();
      child->made = layer_;
    }
    node = child.get();
  }
  return node->closed < layer_ ? nullptr : node;
}

void Merge::hold(std::size_t bytes) {
  held_ += bytes;
  if (held_ > most_memory_)
    throw Error("the names in the image take more than {} MiB of memory: they are too many, or too long",
                most_memory_ >> 20);
}

std::shared_ptr<Inode> Merge::inode_of(const Member& member) {
  auto inode = std::make_shared<Inode>();
  inode->kind = member.kind;
  inode->mode = member.mode;
  inode->mtime = member.mtime;
  if (member.kind == Kind::symlink) inode->link = member.link;
  hold(weight_of_inode + inode->link.size());
  for (const auto& [name, value] :
       member.attributes) {  // others mean nothing, or harm, to who has no privileges
    if (!name.starts_with("user.") || name.starts_with("user.overlay.")) continue;
    if (value.size() > largest_attribute)
      throw Error("its attribute {} has {} bytes, and Linux allows {}", printable(name), value.size(),
                  largest_attribute);
    hold(weight_of_attribute + 3 * (name.size() + value.size()));
    inode->attributes.emplace(name, value);
  }
  return inode;
}

void Merge::add_directory(Node& node, const Member& member) {
  if (node.inode != nullptr && node.layer < layer_) return;  // the one above is the one that shows
  links_.erase(member.path);
  node.inode = inode_of(member);
  node.layer = layer_;
}

// Something that is not a directory comes to a name. If that is a directory of a layer above, it stays one,
// and what is further down belonged to another thing.
bool Merge::replaceable(Node& node) {
  const bool from_above = node.inode != nullptr && node.made < layer_;
  node.closed = std::min(node.closed, layer_);
  if (from_above) return false;
  node.children.clear();
  node.layer = layer_;
  return true;
}

void Merge::add_other(Node& node, const Member& member, ByteSource& content) {
  const bool unnamed = node.layer == Node::never;
  if (!replaceable(node)) {
    if (unnamed && member.kind == Kind::symlink) parents_.emplace(member.path, member.link);
    return;
  }
  links_.erase(member.path);
  node.inode = inode_of(member);
  if (member.kind == Kind::file) fill(node.inode, member, content);
}

void Merge::fill(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) {
  if (member.size > largest_file)
    throw Error("it has {} bytes, and a file in an image at most {}", member.size, largest_file);
  if (!FactFinder::wants(member)) return writer_.store(inode, member, content);
  const std::string bytes = read_rest(content, member.size);
  facts_.look(member.path, bytes);
  MemorySource again(bytes);
  writer_.store(inode, member, again);
}

// A layer may put lib/x into what is, further down, a symbolic link lib → usr/lib, without naming lib itself:
// unpacked over the layers below, x would land in usr/lib. So do its names here.
void Merge::follow_links_of_parents() {
  for (const auto& [path, link] : parents_) {
    Node* from = find(root_, path);
    if (from == nullptr || !from->is_directory()) continue;
    const std::string target = target_of(path, link);
    Node* to = find(root_, target);
    // If not, it stays the directory that it was made as; so it does if the link leads into itself.
    if (to == nullptr || !to->is_directory() || is_beneath(target, path)) continue;
    Names names = std::exchange(from->children, {});
    from->inode = std::make_shared<Inode>();
    from->inode->kind = Kind::symlink;
    from->inode->link = link;
    move_names(std::move(names), *to);
  }
}

ImageSummary Merge::finish() {
  if (!missing_.empty()) {
    const auto& [target, names] = *missing_.begin();
    throw Error("{} is a hard link to {}, which is not in the image", printable(names.front()),
                printable(target));
  }
  follow_links_of_parents();
  add_mount_points(root_, writer_);
  return writer_.finish(root_);
}

}  // namespace longship::image
