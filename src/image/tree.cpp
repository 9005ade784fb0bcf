// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <sqfs/inode.h>

#include "base/text.h"

namespace longship::image {

Inode::~Inode() {
  sqfs_free(data);
}

Node* find(Node& root, std::string_view path) {
  Node* node = &root;
  if (path.empty()) return node;
  for (const auto name : split(path, '/')) {
    const auto child = node->children.find(name);
    if (child == node->children.end()) return nullptr;
    node = child->second.get();
  }
  return node;
}

}  // namespace longship::image
