// SPDX-License-Identifier: Apache-2.0
// A SquashFS file as a layer, in the order of its names. Members carry where their blocks are, for a writer
// that starts with a copy of them; their contents can be read all the same.
#include <sqfs/data_reader.h>
#include <sqfs/dir.h>
#include <sqfs/dir_reader.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/super.h>
#include <sqfs/xattr.h>
#include <sqfs/xattr_reader.h>

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "layer.h"
#include "squashfs.h"

namespace longship::image {
namespace {

template <class Object>
struct SquashFree {
  void operator()(Object* object) const { sqfs_free(object); }
};
template <class Object>
using Freed = std::unique_ptr<Object, SquashFree<Object>>;

template <class Object>
Squash<Object> made(Object* object) {
  if (object == nullptr) throw std::bad_alloc();
  return Squash<Object>(object);
}

// What a stranger's file may ask for.
constexpr std::size_t largest_attributes = std::size_t{1} << 20;  // of one member, as in a tar
constexpr std::uint64_t largest_layer = std::uint64_t{1} << 40;   // unpacked

// The library unpacks what it finds in metadata, such as the list of a file's blocks, into memory, as much as
// the file says there is: a few megabytes can stand for gigabytes. So much is enough for a file of terabytes.
class MeteredCompressor final : public sqfs_compressor_t {
 public:
  explicit MeteredCompressor(sqfs_compressor_t& inner) : sqfs_compressor_t(inner), inner_(inner) {
    sqfs_compressor_t::do_block = [](sqfs_compressor_t* self, const sqfs_u8* in, sqfs_u32 size, sqfs_u8* out,
                                     sqfs_u32 room) {
      return static_cast<MeteredCompressor*>(self)->unpack(in, size, out, room);
    };
  }
  void start_anew() { left_ = most; }

 private:
  static constexpr std::int64_t most = std::int64_t{64} << 20;

  sqfs_s32 unpack(const sqfs_u8* in, sqfs_u32 size, sqfs_u8* out, sqfs_u32 room) {
    const sqfs_s32 made = inner_.do_block(&inner_, in, size, out, room);
    left_ -= std::max<sqfs_s32>(made, 0);
    return left_ < 0 ? SQFS_ERROR_OVERFLOW : made;
  }

  sqfs_compressor_t& inner_;
  std::int64_t left_ = most;
};

class Reader {
 public:
  Reader(const std::filesystem::path& path, bool share_blocks)
      : fd_(open_file(path, O_RDONLY)), file_(fd_.get()), share_blocks_(share_blocks) {
    require(sqfs_super_read(&super_, &file_));
    compressor_ =
        make_compressor(static_cast<SQFS_COMPRESSOR>(super_.compression_id), super_.block_size, true);
    metered_.emplace(*compressor_);
    directories_ = made(sqfs_dir_reader_create(&super_, &*metered_, &file_, 0));
    data_ = made(sqfs_data_reader_create(&file_, super_.block_size, compressor_.get(), 0));
    require(sqfs_data_reader_load_fragment_table(data_.get(), &super_));
    if ((super_.flags & SQFS_FLAG_NO_XATTRS) != 0 || super_.xattr_id_table_start == ~sqfs_u64{0}) return;
    attributes_ = made(sqfs_xattr_reader_create(0));
    require(sqfs_xattr_reader_load(attributes_.get(), &super_, &file_, &*metered_));
  }

  void read(MemberSink& sink) {
    sqfs_inode_generic_t* root = nullptr;
    require(sqfs_dir_reader_get_root_inode(directories_.get(), &root));
    const Freed<sqfs_inode_generic_t> owner(root);
    if (!is_directory(*root)) throw Error("its root is not a directory: it is damaged");
    emit("", *root, sink);
    read_directory("", *root, sink);
  }

 private:
  class Content final : public ByteSource {
   public:
    Content(Reader& reader, const sqfs_inode_generic_t& inode) : reader_(reader), inode_(inode) {}
    std::size_t read(char* into, std::size_t size) override {
      const auto wanted = static_cast<sqfs_u32>(std::min<std::size_t>(size, 1u << 20));
      const sqfs_s32 got = sqfs_data_reader_read(reader_.data_.get(), &inode_, offset_, into, wanted);
      reader_.require(got);
      offset_ += static_cast<sqfs_u64>(got);
      return static_cast<std::size_t>(got);
    }

   private:
    Reader& reader_;
    const sqfs_inode_generic_t& inode_;
    sqfs_u64 offset_ = 0;
  };

  void require(int result) const { check(result, file_, "cannot read the SquashFS file"); }

  struct Entry {
    std::string path;
    Freed<sqfs_inode_generic_t> inode;
  };

  // The reader has one position: a directory is listed whole before its subdirectories are.
  void read_directory(const std::string& path, const sqfs_inode_generic_t& inode, MemberSink& sink) {
    // A directory has one name. In a file that says otherwise one could lie in itself, or hold another twice,
    // and that one a third, and so on.
    if (!directories_seen_.insert(inode.base.inode_number).second)
      throw Error("{} is the same directory as another: it is damaged", printable(path));
    std::vector<Entry> subdirectories;
    require(sqfs_dir_reader_open_dir(directories_.get(), &inode, 0));
    for (;;) {
      sqfs_dir_entry_t* raw = nullptr;
      const int result = sqfs_dir_reader_read(directories_.get(), &raw);
      require(result);
      if (result > 0) break;
      const Freed<sqfs_dir_entry_t> entry(raw);
      const std::string_view name(reinterpret_cast<const char*>(raw->name), raw->size + std::size_t{1});
      if (name == "." || name == ".." || name.find('/') != std::string_view::npos)
        throw Error("it has an impossible name, {}: it is damaged", printable(name));
      const std::string full = normal_path(path.empty() ? std::string(name) : path + "/" + std::string(name));
      metered_->start_anew();
      sqfs_inode_generic_t* child = nullptr;
      require(sqfs_dir_reader_get_inode(directories_.get(), &child));
      Freed<sqfs_inode_generic_t> owner(child);
      if (is_directory(*child)) {
        subdirectories.push_back({full, std::move(owner)});
      } else {
        emit(full, *child, sink);
      }
    }
    for (const auto& [full, child] : subdirectories) {
      emit(full, *child, sink);
      read_directory(full, *child, sink);
    }
  }

  static bool is_directory(const sqfs_inode_generic_t& inode) {
    return inode.base.type == SQFS_INODE_DIR || inode.base.type == SQFS_INODE_EXT_DIR;
  }

  void emit(const std::string& path, const sqfs_inode_generic_t& inode, MemberSink& sink) {
    within_member(path, [&] {
      Member member;
      member.path = path;
      member.mode = inode.base.mode & 07777u;
      member.mtime = inode.base.mod_time;
      member.attributes = attributes_of(inode);
      describe(member, inode);
      Content content(*this, inode);
      sink.add(member, content);
    });
  }

  void describe(Member& member, const sqfs_inode_generic_t& inode) {
    switch (inode.base.type) {
      case SQFS_INODE_DIR:
      case SQFS_INODE_EXT_DIR:
        member.kind = Kind::directory;
        return;
      case SQFS_INODE_SLINK:
      case SQFS_INODE_EXT_SLINK:
        member.kind = Kind::symlink;
        member.link.assign(reinterpret_cast<const char*>(inode.extra), inode.data.slink.target_size);
        check_link(member.link);
        return;
      case SQFS_INODE_FIFO:
      case SQFS_INODE_EXT_FIFO:
        member.kind = Kind::fifo;
        return;
      case SQFS_INODE_SOCKET:
      case SQFS_INODE_EXT_SOCKET:
        member.kind = Kind::socket;
        return;
      case SQFS_INODE_FILE:
      case SQFS_INODE_EXT_FILE:
        return describe_file(member, inode);
      default:
        member.kind = Kind::device;
    }
  }

  // A file with several names is a hard link to the first of them that came.
  void describe_file(Member& member, const sqfs_inode_generic_t& inode) {
    sqfs_u64 size = 0;
    require(sqfs_inode_get_file_size(&inode, &size));
    member.kind = Kind::file;
    member.size = size;
    if (size > largest_layer - bytes_) throw Error("it unpacks to more than {} bytes", largest_layer);
    bytes_ += size;
    if (share_blocks_) member.stored = &inode;
    if (inode.base.type != SQFS_INODE_EXT_FILE || inode.data.file_ext.nlink < 2) return;
    const auto [first, is_first] = first_names_.emplace(inode.base.inode_number, member.path);
    if (is_first || first->second == member.path)
      return;  // the same again when the layer is read a second time
    member.kind = Kind::hard_link;
    member.link = first->second;
  }

  Attributes attributes_of(const sqfs_inode_generic_t& inode) {
    sqfs_u32 index = ~sqfs_u32{0};
    require(sqfs_inode_get_xattr_index(&inode, &index));
    Attributes found;
    if (attributes_ == nullptr || index == ~sqfs_u32{0}) return found;
    sqfs_xattr_id_t where{};
    require(sqfs_xattr_reader_get_desc(attributes_.get(), index, &where));
    require(sqfs_xattr_reader_seek_kv(attributes_.get(), &where));
    std::size_t bytes = 0;
    for (sqfs_u32 i = 0; i < where.count; ++i) {
      sqfs_xattr_entry_t* raw_key = nullptr;
      require(sqfs_xattr_reader_read_key(attributes_.get(), &raw_key));
      const Freed<sqfs_xattr_entry_t> key(raw_key);
      sqfs_xattr_value_t* raw_value = nullptr;
      require(sqfs_xattr_reader_read_value(attributes_.get(), raw_key, &raw_value));
      const Freed<sqfs_xattr_value_t> value(raw_value);
      const std::string name(reinterpret_cast<const char*>(raw_key->key));
      bytes += name.size() + raw_value->size;
      if (bytes > largest_attributes)
        throw Error("its extended attributes have more than {} bytes", largest_attributes);
      found.emplace(name, std::string(reinterpret_cast<const char*>(raw_value->value), raw_value->size));
    }
    return found;
  }

  Fd fd_;
  SquashFile file_;
  bool share_blocks_;
  sqfs_super_t super_{};
  Squash<sqfs_compressor_t> compressor_;
  std::optional<MeteredCompressor> metered_;  // for metadata
  Squash<sqfs_dir_reader_t> directories_;
  Squash<sqfs_data_reader_t> data_;
  Squash<sqfs_xattr_reader_t> attributes_;
  std::unordered_map<std::uint32_t, std::string> first_names_;
  std::unordered_set<std::uint32_t> directories_seen_;
  std::uint64_t bytes_ = 0;
};

class SquashfsLayer final : public Layer {
 public:
  SquashfsLayer(std::filesystem::path file, bool share_blocks)
      : file_(std::move(file)), share_blocks_(share_blocks) {}
  [[nodiscard]] std::string name() const override { return file_.filename().string(); }
  void read(MemberSink& sink) override { Reader(file_, share_blocks_).read(sink); }

 private:
  std::filesystem::path file_;
  bool share_blocks_;
};

}  // namespace

std::unique_ptr<Layer> squashfs_layer(std::filesystem::path file, bool share_blocks) {
  return std::make_unique<SquashfsLayer>(std::move(file), share_blocks);
}

}  // namespace longship::image
