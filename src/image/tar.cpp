// SPDX-License-Identifier: Apache-2.0
// The archive is a sequence of 512-byte blocks: a header, its content padded to whole blocks, the next
// header; two blocks of zeros end it. Fields of a header: name 0+100, mode 100+8, size 124+12, mtime 136+12,
// checksum 148+8, type 156, link 157+100, magic 257+6, prefix 345+155.
#include "tar.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::uint64_t block_size = 512;
constexpr std::uint64_t largest_member = std::uint64_t{1} << 42;  // 4 TiB: more is a lie or a mistake
constexpr std::uint64_t most_in_holes = std::uint64_t{1} << 40;   // of a whole archive: they cost only time
constexpr std::string_view attribute_prefix = "SCHILY.xattr.", sparse_prefix = "GNU.sparse.";

constexpr std::uint64_t padding_after(std::uint64_t size) {
  return (block_size - size % block_size) % block_size;
}

Kind kind_of(char type, std::string_view name) {
  switch (type) {
    case '\0':  // before ustar directories were files with a slash at the end
    case '0':
    case '7':
    case 'S':  // sparse, of GNU's old kind
      return name.ends_with('/') ? Kind::directory : Kind::file;
    case '1':
      return Kind::hard_link;
    case '2':
      return Kind::symlink;
    case '3':
    case '4':
      return Kind::device;
    case '5':
      return Kind::directory;
    case '6':
      return Kind::fifo;
    default:
      throw Error("its type {} is not known", printable({&type, 1}));
  }
}

bool is_extension(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

}  // namespace

std::size_t TarReader::Content::read(char* into, std::size_t size) {
  const std::size_t most = wanted(size);
  const std::size_t got = most == 0 ? 0 : reader_.source_.read(into, most);
  if (most > 0) count(got);
  return got;
}

std::string_view TarReader::Content::take(std::span<char> room) {
  const std::size_t most = wanted(room.size());
  if (most == 0) return {};
  const auto bytes = reader_.source_.take(room.first(most));
  count(bytes.size());
  return bytes;
}

std::size_t TarReader::Content::wanted(std::size_t size) const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(size, reader_.left_));
}

void TarReader::Content::count(std::size_t got) {
  if (got == 0) throw Error("member {}: the archive ends in the middle of it", printable(reader_.current_));
  reader_.left_ -= got;
}

bool TarReader::read_block(Block& block) {
  const std::size_t got = read_fully(source_, block.data(), block.size());
  if (got != 0 && got != block.size())
    throw Error("the archive ends in the middle of a header{}",
                current_.empty() ? ": it is truncated, or this is not a tar archive" : ", it is truncated");
  return got != 0;
}

void TarReader::skip_content() {
  sparse_.reset();
  drain(content_);
  left_ = padding_;
  padding_ = 0;
  drain(content_);
}

std::string TarReader::extension_text(std::uint64_t size, std::size_t before) {
  if (size > largest_extension - before)
    throw Error("{}extended headers of {} bytes are larger than the {} allowed",
                current_.empty() ? "" : "after member " + printable(current_) + ": ", before + size,
                largest_extension);
  left_ = size;
  padding_ = padding_after(size);
  std::string text = read_rest(content_, largest_extension);
  skip_content();
  return text;
}

// "27 path=usr/share/doc/…\n": the length counts itself and the line's end.
void TarReader::apply_pax(Extension& extension, std::string_view text) {
  while (!text.empty()) {
    const auto space = text.find(' ');
    if (space == 0 || space == std::string_view::npos || space > 10)
      throw Error("the extended header is malformed");
    const auto length = decimal<std::size_t>(text.substr(0, space), "length");
    if (length <= space + 1 || length > text.size() || text[length - 1] != '\n')
      throw Error("the extended header has a record of a wrong length");
    const std::string_view record = text.substr(space + 1, length - space - 2);
    const auto equals = record.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      throw Error("the extended header has a record without a key");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") extension.path = value;
    if (key == "linkpath") extension.link = value;
    if (key == "size") extension.size = decimal<std::uint64_t>(value, key);
    if (key == "mtime") extension.mtime = decimal<std::int64_t>(value.substr(0, value.find('.')), key);
    if (key.starts_with(sparse_prefix)) extension.sparse.apply(key.substr(sparse_prefix.size()), value);
    if (key.starts_with(attribute_prefix)) {
      const std::string_view name = key.substr(attribute_prefix.size());
      if (name.empty() || name.size() > 255 || name.find('\0') != std::string_view::npos)
        throw Error("an extended attribute has an impossible name");
      extension.attributes.insert_or_assign(std::string(name), std::string(value));
    }
    text.remove_prefix(length);
  }
}

Member TarReader::member_of(const Block& block, Extension& extension) {
  std::string name(text_of(field(block, 0, 100)));
  const bool ustar =
      field(block, 257, 6) == std::string_view("ustar\0", 6);  // GNU's own format has no prefix here
  if (const auto prefix = text_of(field(block, 345, 155)); ustar && !prefix.empty())
    name = std::string(prefix) + '/' + name;
  if (extension.path) name = *extension.path;
  if (extension.sparse.name()) name = *extension.sparse.name();  // the path is then one for other programs
  current_ = name;
  return within_member(name, [&] {
    Member member;
    member.kind = kind_of(block[156], name);
    member.path = normal_path(name);
    member.mode = static_cast<unsigned>(number_of(field(block, 100, 8), "mode") & 07777);
    member.mtime = extension.mtime ? *extension.mtime : number_of(field(block, 136, 12), "time");
    member.attributes = std::move(extension.attributes);
    const std::string link = extension.link ? *extension.link : std::string(text_of(field(block, 157, 100)));
    if (member.kind == Kind::hard_link) member.link = normal_path(link);
    if (member.kind == Kind::symlink) {
      check_link(link);
      member.link = link;
    }
    if (member.kind == Kind::file) {
      const std::uint64_t said = size_of(field(block, 124, 12), "size");
      member.size = extension.size ? *extension.size : said;
      if (member.size > largest_member) throw Error("its size of {} bytes cannot be true", member.size);
    }
    if (member.path.empty() && member.kind != Kind::directory)
      throw Error("only a directory can be the root");
    return member;
  });
}

void TarReader::make_sparse(Member& member, const Block& block, Extension& extension) {
  if (member.kind != Kind::file) throw Error("it has a map of holes, and is not a file");
  const std::size_t most = largest_extension - extension.bytes;
  const auto next_block = [this] {
    Block more;
    if (!read_block(more)) throw Error("the archive ends in its map of holes");
    return more;
  };
  SparseMap map = block[156] == 'S' ? old_sparse_map(block, next_block, most)
                                    : std::move(extension.sparse).map(content_, most);
  if (map.size > largest_member) throw Error("its size of {} bytes cannot be true", map.size);
  check_map(map, left_);
  in_holes_ += map.size - left_;
  if (in_holes_ > most_in_holes)
    throw Error("the holes in the archive are more than {} bytes", most_in_holes);
  member.size = map.size;
  sparse_.emplace(content_, std::move(map));
}

std::optional<Member> TarReader::next() {
  Extension extension;
  Block block;
  for (;;) {
    skip_content();
    if (!read_block(block)) return std::nullopt;
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) {
      end_marker_ = true;
      return std::nullopt;
    }
    if (!checksum_fits(block))
      throw Error("a header{} is damaged, or this is not a tar archive",
                  current_.empty() ? "" : " after member " + printable(current_));
    const char type = block[156];
    if (is_extension(type)) {
      const std::uint64_t size = size_of(field(block, 124, 12), "extended header's size");
      const std::string text = extension_text(size, extension.bytes);
      extension.bytes += text.size();
      // A global header describes the archive (git puts a commit there): nothing in it is about an image.
      if (type == 'x') within("after member " + printable(current_), [&] { apply_pax(extension, text); });
      if (type == 'L') extension.path = text_of(text);
      if (type == 'K') extension.link = text_of(text);
      continue;
    }
    Member member = member_of(block, extension);
    left_ = member.size;
    padding_ = padding_after(member.size);
    const bool means_something = within_member(current_, [&] {
      if (type == 'S' || extension.sparse.any()) make_sparse(member, block, extension);
      return interpret_whiteout(member);
    });
    if (means_something) return member;
    extension = {};
  }
}

}  // namespace longship::image
