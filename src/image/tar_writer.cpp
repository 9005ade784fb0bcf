// SPDX-License-Identifier: Apache-2.0
#include "tar_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::size_t block_size = 512;
constexpr std::uint64_t largest_octal = 077777777777;  // what eleven digits hold

struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8],
      user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == block_size);

template <std::size_t Size>
void set_text(char (&field)[Size], std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), Size), field);
}

template <std::size_t Size>
void set_octal(char (&field)[Size], std::uint64_t number) {
  for (std::size_t i = Size - 1; i-- > 0; number >>= 3) field[i] = static_cast<char>('0' + (number & 7));
}

char type_of(Kind kind) {
  switch (kind) {
    case Kind::file:
      return '0';
    case Kind::hard_link:
      return '1';
    case Kind::symlink:
      return '2';
    case Kind::directory:
      return '5';
    case Kind::fifo:
      return '6';
    default:
      return '\0';  // sockets and devices mean nothing in an image
  }
}

std::string block_of(std::string_view name, char type, unsigned mode, std::uint64_t size, std::int64_t mtime,
                     std::string_view link) {
  Header header{};
  set_text(header.name, name);
  set_octal(header.mode, mode & 07777u);
  set_octal(header.uid, 0);
  set_octal(header.gid, 0);
  set_octal(header.size, std::min(size, largest_octal));
  set_octal(header.mtime, static_cast<std::uint64_t>(std::max<std::int64_t>(mtime, 0)));
  header.type = type;
  set_text(header.link, link);
  std::memcpy(header.magic,
              "ustar\0"
              "00",
              8);
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (const char c : std::string_view(reinterpret_cast<const char*>(&header), sizeof header))
    sum += static_cast<unsigned char>(c);
  for (std::size_t i = 6; i-- > 0; sum >>= 3) header.checksum[i] = static_cast<char>('0' + (sum & 7));
  header.checksum[6] = '\0';
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// "30 path=a/b\n": the length counts its own digits too.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
  records += fmt::format("{} {}={}\n", length, key, value);
}

std::string extensions_of(const Member& member, const std::string& name) {
  std::string records;
  if (name.size() > sizeof(Header::name)) add_record(records, "path", name);
  if (member.link.size() > sizeof(Header::link)) add_record(records, "linkpath", member.link);
  if (member.size > largest_octal) add_record(records, "size", std::to_string(member.size));
  for (const auto& [key, value] : member.attributes) add_record(records, "SCHILY.xattr." + key, value);
  return records;
}

std::string padding(std::uint64_t size) {
  return std::string(static_cast<std::size_t>((block_size - size % block_size) % block_size), '\0');
}

}  // namespace

void TarWriter::add(const Member& member, ByteSource& content) {
  const char type = type_of(member.kind);
  if (type == '\0') return;
  std::string name = member.path.empty() ? "./" : member.path;
  if (member.kind == Kind::directory && !name.ends_with('/')) name += '/';
  const bool has_content = member.kind == Kind::file;
  if (const auto records = extensions_of(member, name); !records.empty()) {
    sink_(block_of("./PaxHeaders/" + name.substr(0, 80), 'x', 0644, records.size(), 0, ""));
    sink_(records);
    sink_(padding(records.size()));
  }
  sink_(block_of(name, type, member.mode, has_content ? member.size : 0, member.mtime, member.link));
  if (has_content) add_content(member, content);
}

void TarWriter::add_content(const Member& member, ByteSource& content) {
  std::array<char, 128u << 10> buffer;
  std::uint64_t left = member.size;
  while (left > 0) {
    const auto got =
        content.read(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size())));
    if (got == 0) throw Error("{} ends {} bytes early", printable(member.path), left);
    sink_({buffer.data(), got});
    left -= got;
  }
  sink_(padding(member.size));
}

void TarWriter::finish() {
  sink_(std::string(2 * block_size, '\0'));
}

}  // namespace longship::image
