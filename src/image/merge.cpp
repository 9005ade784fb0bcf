// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace longship::image {
namespace {

using Names = decltype(Node::children);

std::shared_ptr<Inode> inode_of(const Member& member) {
  auto inode = std::make_shared<Inode>();
  inode->kind = member.kind;
  inode->mode = member.mode;
  inode->mtime = member.mtime;
  if (member.kind == Kind::symlink) inode->link = member.link;
  for (const auto& [name, value] :
       member.attributes)  // others mean nothing, or harm, to who has no privileges
    if (name.starts_with("user.") && !name.starts_with("user.overlay."))
      inode->attributes.emplace(name, value);
  return inode;
}

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

// Whether a normal path is another, or lies in it.
bool is_in(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
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

Merge::Merge(ImageWriter& writer) : writer_(writer) {
  root_.inode = unnamed_directory();
}

void Merge::add_layer(Layer& layer) {
  ++layer_;
  hidden_.clear();
  within(layer.name(), [&] {
    layer.read(*this);
    find_missing_targets(layer);
  });
}

void Merge::add(const Member& member, ByteSource& content) {
  if (fetching_) return fetch(member, content);
  Node* node = place(member.path);
  if (node == nullptr) {
    if (member.kind == Kind::file || member.kind == Kind::hard_link) hidden_.insert(member.path);
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
      child = std::make_unique<Node>();
      child->made = layer_;
    }
    node = child.get();
  }
  return node->closed < layer_ ? nullptr : node;
}

void Merge::add_directory(Node& node, const Member& member) {
  if (node.inode != nullptr && node.layer < layer_) return;  // the one above is the one that shows
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
  node.inode = inode_of(member);
  if (member.kind == Kind::file) fill(node.inode, member, content);
}

void Merge::fill(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) {
  if (!FactFinder::wants(member)) return writer_.store(inode, member, content);
  const std::string bytes = read_rest(content, member.size);
  facts_.look(member.path, bytes);
  MemorySource again(bytes);
  writer_.store(inode, member, again);
}

void Merge::add_link(Node& node, const Member& member) {
  if (member.link == member.path) throw Error("it is a hard link to itself");
  if (!replaceable(node)) return;
  const Node* target = find(root_, member.link);
  if (target != nullptr && target->inode != nullptr && target->layer == layer_) {
    if (target->is_directory()) throw Error("it is a hard link to a directory, {}", printable(member.link));
    node.inode = target->inode;
    return;
  }
  node.inode = std::make_shared<Inode>();
  node.inode->kind = Kind::file;
  missing_[member.link].push_back(member.path);
}

void Merge::find_missing_targets(Layer& layer) {
  for (bool progress = true; progress && !missing_.empty();) {
    progress = false;
    const auto wanted = missing_;
    for (const auto& [target, names] : wanted) {
      const Node* node = find(root_, target);
      if (node == nullptr || node->inode == nullptr || node->layer != layer_ || node->is_directory())
        continue;
      link_all(target, node->inode);
      progress = true;
    }
    const bool here = std::any_of(missing_.begin(), missing_.end(),
                                  [&](const auto& one) { return hidden_.contains(one.first); });
    if (!here) continue;
    const auto before = missing_;
    fetching_ = true;
    layer.read(*this);
    fetching_ = false;
    progress = missing_ != before;
  }
}

// The second reading: only what a hard link still waits for.
void Merge::fetch(const Member& member, ByteSource& content) {
  if (!missing_.contains(member.path) || !hidden_.contains(member.path)) return;
  if (member.kind == Kind::file) {
    const auto inode = inode_of(member);
    fill(inode, member, content);
    link_all(member.path, inode);
  } else if (member.kind == Kind::hard_link && member.link != member.path) {
    auto names =
        std::move(missing_.extract(member.path).mapped());  // a link to a link: wait for the latter's target
    auto& others = missing_[member.link];
    others.insert(others.end(), names.begin(), names.end());
  }
}

void Merge::link_all(const std::string& target, const std::shared_ptr<Inode>& inode) {
  const auto waiting = missing_.extract(target);
  for (const auto& name : waiting.mapped())
    if (Node* node = find(root_, name); node != nullptr && node->inode != nullptr && !node->is_directory())
      node->inode = inode;
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
    if (to == nullptr || !to->is_directory() || is_in(target, path)) continue;
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
