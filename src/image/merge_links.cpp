// SPDX-License-Identifier: Apache-2.0
// Hard links of a merge: to what came before in the layer, comes later in it, is hidden by a layer above, or
// lies further down.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "merge.h"

namespace longship::image {

void Merge::add_link(Node& node, const Member& member) {
  if (member.link == member.path) throw Error("it is a hard link to itself");
  if (!replaceable(node)) return;
  links_.erase(member.path);
  const Node* target = find(root_, member.link);
  if (target != nullptr && target->inode != nullptr && target->layer == layer_ && !target->inode->awaited) {
    if (target->is_directory()) throw Error("it is a hard link to a directory, {}", printable(member.link));
    node.inode = target->inode;
    return;
  }
  hold(weight_of_inode + 2 * (weight_of_record + member.link.size() + member.path.size()));
  node.inode = std::make_shared<Inode>();
  node.inode->kind = Kind::file;
  node.inode->awaited = true;
  links_.insert_or_assign(member.path, member.link);
  missing_[member.link].push_back(member.path);
}

void Merge::find_missing_targets(Layer& layer) {
  follow_links();
  const auto wanted = missing_;
  for (const auto& [target, names] : wanted) {
    const Node* node = find(root_, target);
    if (node != nullptr && node->inode != nullptr && node->layer == layer_ && !node->is_directory() &&
        !node->inode->awaited)
      link_all(target, node->inode);
  }
  const bool here = std::any_of(missing_.begin(), missing_.end(),
                                [&](const auto& one) { return hidden_.contains(one.first); });
  if (!here) return;
  fetching_ = true;
  layer.read(*this);
  fetching_ = false;
}

// What waits for a link waits for what that one links to.
void Merge::follow_links() {
  const auto wanted = std::exchange(missing_, {});
  for (const auto& [target, names] : wanted) {
    auto& waiting = missing_[end_of_links(target)];
    for (const auto& name : names)  // not one that a later member has replaced
      if (const Node* node = find(root_, name);
          node != nullptr && node->inode != nullptr && node->inode->awaited)
        waiting.push_back(name);
  }
  std::erase_if(missing_, [](const auto& one) { return one.second.empty(); });
}

// Each link on the way then knows the end itself, so that a long chain is walked once.
std::string Merge::end_of_links(const std::string& name) {
  std::vector<std::string> way;
  std::string end = name;
  for (auto link = links_.find(end); link != links_.end(); link = links_.find(end)) {
    way.push_back(end);
    end = link->second;
    if (way.size() > links_.size()) throw Error("the hard link {} leads back to itself", printable(name));
  }
  for (const auto& passed : way) links_[passed] = end;
  return end;
}

// The second reading: only what a hard link still waits for.
void Merge::fetch(const Member& member, ByteSource& content) {
  if (member.kind != Kind::file || !missing_.contains(member.path) || !hidden_.contains(member.path)) return;
  const auto inode = inode_of(member);
  fill(inode, member, content);
  link_all(member.path, inode);
}

void Merge::link_all(const std::string& target, const std::shared_ptr<Inode>& inode) {
  const auto waiting = missing_.extract(target);
  for (const auto& name : waiting.mapped())
    if (Node* node = find(root_, name); node != nullptr && node->inode != nullptr && node->inode->awaited)
      node->inode = inode;
}

}  // namespace longship::image
