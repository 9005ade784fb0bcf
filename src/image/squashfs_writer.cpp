// SPDX-License-Identifier: Apache-2.0
#include "squashfs_writer.h"

#include <sqfs/block.h>
#include <sqfs/dir_writer.h>
#include <sqfs/frag_table.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/meta_writer.h>
#include <sqfs/super.h>
#include <sqfs/xattr_writer.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "squashfs.h"
#include "squashfs_contents.h"

namespace longship::image {
namespace {

constexpr std::uint32_t block_size = 128 * 1024;
constexpr std::uint32_t no_attributes = 0xffffffff;
constexpr std::uint64_t device_block = 4096;  // the kernel mounts only whole ones

template <class Object>
Squash<Object> made(Object* object, std::string_view what) {
  if (object == nullptr) throw Error("cannot make the {} of a SquashFS file", what);
  return Squash<Object>(object);
}

std::uint32_t clamped_time(std::int64_t seconds) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, 0xffffffff));
}

unsigned mode_of(const Inode& inode) {
  const unsigned permissions = inode.mode & (inode.kind == Kind::directory ? 01777u : 0777u);
  switch (inode.kind) {
    case Kind::directory:
      return SQFS_INODE_MODE_DIR | permissions;
    case Kind::symlink:
      return SQFS_INODE_MODE_LNK | 0777u;
    case Kind::fifo:
      return SQFS_INODE_MODE_FIFO | permissions;
    case Kind::socket:
      return SQFS_INODE_MODE_SOCK | permissions;
    default:
      return SQFS_INODE_MODE_REG | permissions;
  }
}

}  // namespace

struct SquashfsWriter::Parts {
  explicit Parts(int fd, int base = -1) : file(fd) {
    compressor = make_compressor(SQFS_COMP_ZSTD, block_size, false);
    uncompressor = make_compressor(SQFS_COMP_ZSTD, block_size, true);
    fragments = made(sqfs_frag_table_create(0), "fragment table");
    ids = made(sqfs_id_table_create(0), "table of owners");
    attributes = made(sqfs_xattr_writer_create(0), "attributes");
    base < 0 ? start_file() : start_from(base);
    contents = std::make_unique<SquashfsContents>(
        SquashfsContents::Target{file, *compressor, *uncompressor, *fragments}, block_size);
  }

  void start_file() {
    require(sqfs_super_init(&super, block_size, 0, SQFS_COMP_ZSTD));
    require(sqfs_super_write(&super, &file));
    const int options = compressor->write_options(compressor.get(), &file);
    require(options);
    if (options > 0) super.flags |= SQFS_FLAG_COMPRESSOR_OPTIONS;
  }

  // Everything before the inode table comes along at the same offsets: inodes of the base keep their meaning.
  void start_from(int base) {
    SquashFile old(base);
    sqfs_super_t was{};
    check(sqfs_super_read(&was, &old), old, "cannot read the base image");
    if (was.compression_id != SQFS_COMP_ZSTD || was.block_size != block_size)
      throw Error("the base image is not one of ours: its blocks cannot be used as they are");
    require(sqfs_super_init(&super, block_size, 0, SQFS_COMP_ZSTD));
    super.flags = static_cast<sqfs_u16>(super.flags | (was.flags & SQFS_FLAG_COMPRESSOR_OPTIONS));
    copy_start(base, was.inode_table_start);
    const Squash<sqfs_frag_table_t> fragments_before = made(sqfs_frag_table_create(0), "fragment table");
    check(sqfs_frag_table_read(fragments_before.get(), &old, &was, uncompressor.get()), old,
          "cannot read the base image");
    for (std::size_t i = 0; i < sqfs_frag_table_get_size(fragments_before.get()); ++i) {
      sqfs_fragment_t fragment{};
      sqfs_u32 index = 0;
      require(sqfs_frag_table_lookup(fragments_before.get(), static_cast<sqfs_u32>(i), &fragment));
      require(sqfs_frag_table_append(fragments.get(), fragment.start_offset, fragment.size, &index));
    }
  }

  void copy_start(int base, std::uint64_t length) {
    off_t from = 0, to = 0;
    while (static_cast<std::uint64_t>(to) < length) {
      const std::size_t left = length - static_cast<std::uint64_t>(to);
      const ssize_t copied = ::copy_file_range(base, &from, file.fd, &to, left, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) return copy_start_by_hand(base, static_cast<std::uint64_t>(to), length);
    }
    file.size = length;
  }

  // Between file systems, or where a filter or an old kernel does not know copy_file_range.
  void copy_start_by_hand(int base, std::uint64_t at, std::uint64_t length) {
    SquashFile old(base);
    std::vector<char> buffer(256u << 10);
    for (std::uint64_t count = 0; at < length; at += count) {
      count = std::min<std::uint64_t>(buffer.size(), length - at);
      check(old.read_at(&old, at, buffer.data(), count), old, "cannot read the base image");
      require(file.write_at(&file, at, buffer.data(), count));
    }
  }

  void require(int result) const { check(result, file, "cannot write the SquashFS file"); }

  SquashFile file;
  sqfs_super_t super{};
  Squash<sqfs_compressor_t> compressor, uncompressor;
  Squash<sqfs_frag_table_t> fragments;
  Squash<sqfs_id_table_t> ids;
  Squash<sqfs_xattr_writer_t> attributes;
  std::unique_ptr<SquashfsContents> contents;  // last: its threads use the others
};

namespace {

// A file of the base, from its inode there.
void adopt(Inode& inode, const sqfs_inode_generic_t& stored) {
  const std::size_t size = sizeof stored + stored.payload_bytes_used;
  auto* copy = static_cast<sqfs_inode_generic_t*>(std::malloc(size));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(static_cast<void*>(copy), &stored, size);
  copy->payload_bytes_available = copy->payload_bytes_used;
  inode.data = copy;
  if (copy->base.type != SQFS_INODE_EXT_FILE) return;
  copy->data.file_ext.nlink = 1;  // links and attributes are counted anew
  copy->data.file_ext.xattr_idx = no_attributes;
}

// Inodes and directories, bottom up: a directory's list holds where its members' inodes are.
class Tables {
 public:
  Tables(SquashFile& file, sqfs_compressor_t* compressor, sqfs_id_table_t* ids,
         sqfs_xattr_writer_t* attributes)
      : file_(file), attributes_(attributes) {
    inodes_ = made(sqfs_meta_writer_create(&file, compressor, 0), "inode table");
    lists_ =
        made(sqfs_meta_writer_create(&file, compressor, SQFS_META_WRITER_KEEP_IN_MEMORY), "directory table");
    directories_ = made(sqfs_dir_writer_create(lists_.get(), 0), "directory writer");
    require(sqfs_id_table_id_to_index(ids, 0, &root_id_));
  }

  void write(Node& root, sqfs_super_t& super, ImageSummary& summary) {
    number(root);
    super.inode_count = count_;
    super.inode_table_start = file_.size;
    write_directory(root, count_ + 1);
    super.root_inode_ref = root.inode->reference;
    super.modification_time = newest_;
    require(sqfs_meta_writer_flush(inodes_.get()));
    require(sqfs_meta_writer_flush(lists_.get()));
    super.directory_table_start = file_.size;
    require(sqfs_meta_write_write_to_file(lists_.get()));
    summary.files = files_;
  }

 private:
  void require(int result) const { check(result, file_, "cannot write the SquashFS file"); }

  void number(Node& node) {
    for (auto& [name, child] : node.children) {
      if (child->inode == nullptr) continue;
      if (child->is_directory()) number(*child);
      if (!child->is_directory()) ++files_;
      if (++child->inode->names == 1 && !child->is_directory()) child->inode->number = ++count_;
    }
    node.inode->number = ++count_;
  }

  void write_directory(Node& node, std::uint32_t parent) {
    std::uint32_t directories = 0;
    for (auto& [name, child] : node.children) {
      if (child->inode == nullptr) continue;
      if (child->is_directory()) {
        ++directories;
        write_directory(*child, node.inode->number);
      } else if (!child->inode->written) {
        write_other(*child->inode);
      }
    }
    write_list(node);
    const std::uint32_t attributes = attributes_of(*node.inode);
    auto* inode = sqfs_dir_writer_create_inode(directories_.get(), 0, attributes, parent);
    if (inode == nullptr) throw std::bad_alloc();
    const std::unique_ptr<sqfs_inode_generic_t, void (*)(void*)> owner(inode, sqfs_free);
    (inode->base.type == SQFS_INODE_DIR ? inode->data.dir.nlink : inode->data.dir_ext.nlink) =
        2 + directories;
    write_inode(*node.inode, *inode);
  }

  void write_list(Node& node) {
    require(sqfs_dir_writer_begin(directories_.get(), 0));
    for (auto& [name, child] : node.children) {
      if (child->inode == nullptr) continue;
      const auto mode = static_cast<sqfs_u16>(mode_of(*child->inode));
      require(sqfs_dir_writer_add_entry(directories_.get(), name.c_str(), child->inode->number,
                                        child->inode->reference, mode));
    }
    require(sqfs_dir_writer_end(directories_.get()));
  }

  void write_other(Inode& node) {
    if (node.kind == Kind::file) {
      write_file(node);
    } else {
      write_special(node);
    }
    node.written = true;
  }

  void write_file(Inode& node) {
    if (node.names > 1) {
      require(sqfs_inode_make_extended(node.data));
      node.data->data.file_ext.nlink = node.names;
    }
    if (const std::uint32_t attributes = attributes_of(node); attributes != no_attributes)
      require(sqfs_inode_set_xattr_index(node.data, attributes));
    write_inode(node, *node.data);
  }

  // Symbolic links, fifos, sockets.
  void write_special(Inode& node) {
    const std::size_t extra = node.link.size();
    auto* inode =
        static_cast<sqfs_inode_generic_t*>(std::calloc(1, sizeof(sqfs_inode_generic_t) + extra + 1));
    if (inode == nullptr) throw std::bad_alloc();
    const std::unique_ptr<void, void (*)(void*)> owner(inode, std::free);
    if (node.kind == Kind::symlink) {
      inode->base.type = SQFS_INODE_SLINK;
      inode->data.slink.nlink = node.names;
      inode->data.slink.target_size = static_cast<sqfs_u32>(extra);
      std::memcpy(inode->extra, node.link.data(), extra);
      inode->payload_bytes_available = inode->payload_bytes_used = static_cast<sqfs_u32>(extra);
    } else {
      inode->base.type = node.kind == Kind::fifo ? SQFS_INODE_FIFO : SQFS_INODE_SOCKET;
      inode->data.ipc.nlink = node.names;
    }
    if (const std::uint32_t attributes = attributes_of(node); attributes != no_attributes)
      require(sqfs_inode_set_xattr_index(inode, attributes));
    write_inode(node, *inode);
  }

  void write_inode(Inode& node, sqfs_inode_generic_t& inode) {
    inode.base.mode = static_cast<sqfs_u16>(mode_of(node));
    inode.base.uid_idx = inode.base.gid_idx = root_id_;
    inode.base.mod_time = clamped_time(node.mtime);
    inode.base.inode_number = node.number;
    newest_ = std::max(newest_, inode.base.mod_time);
    sqfs_u64 block = 0;
    sqfs_u32 offset = 0;
    sqfs_meta_writer_get_position(inodes_.get(), &block, &offset);
    node.reference = block << 16 | offset;
    require(sqfs_meta_writer_write_inode(inodes_.get(), &inode));
  }

  std::uint32_t attributes_of(const Inode& node) {
    if (node.attributes.empty()) return no_attributes;
    sqfs_u32 index = no_attributes;
    require(sqfs_xattr_writer_begin(attributes_, 0));
    for (const auto& [key, value] : node.attributes)
      require(sqfs_xattr_writer_add(attributes_, key.c_str(), value.data(), value.size()));
    require(sqfs_xattr_writer_end(attributes_, &index));
    return index;
  }

  SquashFile& file_;
  sqfs_xattr_writer_t* attributes_;
  Squash<sqfs_meta_writer_t> inodes_, lists_;
  Squash<sqfs_dir_writer_t> directories_;
  sqfs_u16 root_id_ = 0;
  std::uint32_t count_ = 0, newest_ = 0;
  std::uint64_t files_ = 0;
};

}  // namespace

SquashfsWriter::SquashfsWriter(int fd) : parts_(std::make_unique<Parts>(fd)) {}
SquashfsWriter::SquashfsWriter(int fd, int base) : parts_(std::make_unique<Parts>(fd, base)) {}
SquashfsWriter::~SquashfsWriter() = default;

void SquashfsWriter::store(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) {
  if (member.stored != nullptr) return adopt(*inode, *member.stored);
  parts_->contents->add(inode, member.size, content);
}

ImageSummary SquashfsWriter::finish(Node& root) {
  auto& parts = *parts_;
  parts.contents->finish();
  ImageSummary summary;
  Tables(parts.file, parts.compressor.get(), parts.ids.get(), parts.attributes.get())
      .write(root, parts.super, summary);
  parts.require(
      sqfs_frag_table_write(parts.fragments.get(), &parts.file, &parts.super, parts.compressor.get()));
  parts.require(sqfs_id_table_write(parts.ids.get(), &parts.file, &parts.super, parts.compressor.get()));
  parts.require(
      sqfs_xattr_writer_flush(parts.attributes.get(), &parts.file, &parts.super, parts.compressor.get()));
  parts.super.bytes_used = parts.file.size;
  parts.require(sqfs_super_write(&parts.super, &parts.file));
  const std::uint64_t padded = (parts.file.size + device_block - 1) / device_block * device_block;
  parts.require(parts.file.truncate(&parts.file, padded));
  summary.bytes = padded;
  return summary;
}

}  // namespace longship::image
