// SPDX-License-Identifier: Apache-2.0
// The archive is a sequence of 512-byte blocks: a header, its content padded to whole blocks, the next
// header; two blocks of zeros end it. Fields of a header: name 0+100, mode 100+8, size 124+12, mtime 136+12,
// checksum 148+8, type 156, link 157+100, magic 257+6, prefix 345+155.
#include "tar.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::uint64_t block_size = 512;
constexpr std::uint64_t largest_member = std::uint64_t{1} << 42;  // 4 TiB: more is a lie or a mistake

std::string_view field(const std::array<char, 512>& block, std::size_t at, std::size_t length) {
  return {block.data() + at, length};
}

// Up to the first NUL; a field that fills its room has none.
std::string_view text_of(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

// GNU's way for what octal digits cannot hold: the first bit set, then a big-endian two's complement number.
std::int64_t base256(std::string_view digits, std::string_view what) {
  const bool negative = (digits[0] & 0x40) != 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    auto byte = static_cast<unsigned char>(digits[i]);
    if (i == 0) byte = static_cast<unsigned char>(negative ? byte | 0x80u : byte & 0x7fu);
    // What the shift pushes out, and the sign that comes after it, must be nothing but sign.
    if (value >> 55 != (negative ? 0x1ffu : 0u)) throw Error("its {} is out of range", what);
    value = value << 8 | byte;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t number_of(std::string_view digits, std::string_view what) {
  if ((static_cast<unsigned char>(digits[0]) & 0x80u) != 0) return base256(digits, what);
  std::string_view text = text_of(digits);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  if (text.empty()) return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error("its {} is not a number: {}", what, printable(text));
  return value;
}

template <class Number>
Number decimal(std::string_view text, std::string_view key) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error("the extended header has {} = {}, which is not a number", key, printable(text));
  return value;
}

bool checksum_fits(const std::array<char, 512>& block) {
  // The checksum's own field counts as spaces. Some old programs added signed bytes: that sum is accepted
  // too.
  std::int64_t with_unsigned = 8 * ' ', with_signed = 8 * ' ';
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    with_unsigned += static_cast<unsigned char>(block[i]);
    with_signed += static_cast<signed char>(block[i]);
  }
  std::string_view text = text_of(field(block, 148, 8));
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t said = -1;
  std::from_chars(text.data(), text.data() + text.size(), said, 8);
  return said == with_unsigned || said == with_signed;
}

Kind kind_of(char type, std::string_view name) {
  switch (type) {
    case '\0':  // before ustar directories were files with a slash at the end
    case '0':
    case '7':
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
    case 'S':
      throw Error("it is a sparse file, which is not supported: make the archive without --sparse");
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
    throw Error("the archive ends in the middle of a header, it is truncated");
  return got != 0;
}

void TarReader::skip_content() {
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
  padding_ = (block_size - size % block_size) % block_size;
  std::string text = read_rest(content_, largest_extension);
  skip_content();
  return text;
}

// "27 path=usr/share/doc/…\n": the length counts itself and the line's end.
void TarReader::apply_pax(Extension& extension, std::string_view text) {
  constexpr std::string_view attribute_prefix = "SCHILY.xattr.";
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
    if (key.starts_with("GNU.sparse."))
      throw Error("it is a sparse file, which is not supported: make the archive without --sparse");
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
  current_ = name;
  return within("member " + printable(name), [&] {
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
      const std::int64_t said = number_of(field(block, 124, 12), "size");
      if (said < 0) throw Error("its size is negative");
      member.size = extension.size ? *extension.size : static_cast<std::uint64_t>(said);
      if (member.size > largest_member) throw Error("its size of {} bytes cannot be true", member.size);
    }
    if (member.path.empty() && member.kind != Kind::directory)
      throw Error("only a directory can be the root");
    return member;
  });
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
      const std::int64_t size = number_of(field(block, 124, 12), "size");
      if (size < 0) throw Error("an extended header has a negative size");
      const std::string text = extension_text(static_cast<std::uint64_t>(size), extension.bytes);
      extension.bytes += text.size();
      // A global header describes the archive (git puts a commit there): nothing in it is about an image.
      if (type == 'x') within("after member " + printable(current_), [&] { apply_pax(extension, text); });
      if (type == 'L') extension.path = text_of(text);
      if (type == 'K') extension.link = text_of(text);
      continue;
    }
    Member member = member_of(block, extension);
    left_ = member.size;
    padding_ = (block_size - member.size % block_size) % block_size;
    const bool means_something =
        within("member " + printable(current_), [&] { return interpret_whiteout(member); });
    if (means_something) return member;
    extension = {};
  }
}

}  // namespace longship::image
