// SPDX-License-Identifier: Apache-2.0
#include "member.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace longship::formats {
namespace {

// The fields of a ustar header, as POSIX.1-2017 (pax, "ustar Interchange Format") lays them out.
struct Field {
  std::size_t at, size;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, owner_field{108, 8}, group_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, sum_field{148, 8}, type_field{156, 1}, link_field{157, 100},
    magic_field{257, 8}, prefix_field{345, 155};
constexpr std::string_view magic{"ustar\00000", 8};
constexpr std::uint64_t largest_octal = 077777777777;  // eleven digits
constexpr std::size_t largest_pax = 64 * 1024;

void put(std::string& block, Field field, std::string_view text) {
  block.replace(field.at, text.size(), text);
}

void put_octal(std::string& block, Field field, std::uint64_t number) {
  put(block, field, fmt::format("{:0{}o}", number, field.size - 1));
}

unsigned sum_of(std::string_view block) {
  // The sum's own field counts as blanks.
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= sum_field.at && i < sum_field.at + sum_field.size;
    sum += own ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

struct SplitName {
  std::string_view prefix, name;
  bool fits = true;
};

// A name of up to 255 bytes may be cut in two at a slash.
SplitName split_name(std::string_view name) {
  if (name.size() <= name_field.size) return {"", name};
  const auto cut = name.find('/', name.size() - name_field.size - 1);
  if (cut == std::string_view::npos || cut > prefix_field.size || cut + 1 == name.size())
    return {"", "", false};
  return {name.substr(0, cut), name.substr(cut + 1)};
}

std::string block_of(char type, std::string_view prefix, std::string_view name, std::string_view link,
                     unsigned mode, std::uint64_t size) {
  std::string block(tar_block, '\0');
  put(block, name_field, name);
  put_octal(block, mode_field, mode);
  put_octal(block, owner_field, 0);
  put_octal(block, group_field, 0);
  put_octal(block, size_field, size);
  put_octal(block, time_field, 0);
  put(block, type_field, {&type, 1});
  put(block, link_field, link);
  put(block, magic_field, magic);
  put(block, prefix_field, prefix);
  put(block, sum_field, fmt::format("{:06o}", sum_of(block)));
  block[sum_field.at + 7] = ' ';
  return block;
}

// "30 path=…\n", where the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const auto rest = key.size() + value.size() + 3;
  auto length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

std::string pax_header(const std::string& records) {
  return block_of('x', "", "pax", "", 0644, records.size()) + records +
         std::string(tar_padding(records.size()), '\0');
}

std::string_view get(std::string_view block, Field field) {
  const auto text = block.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

std::uint64_t get_octal(std::string_view block, Field field) {
  const auto digits = trim(get(block, field));
  std::uint64_t number = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, 8);
  if (digits.empty() || error != std::errc() || stop != end) throw Error("a tar header with a wrong number");
  return number;
}

std::uint64_t decimal(std::string_view digits) {
  std::uint64_t number = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) throw Error("a pax header with a wrong number");
  return number;
}

Member::Kind kind_of(char type, std::string_view name) {
  switch (type) {
    case '0':
      return Member::Kind::file;
    case '2':
      return Member::Kind::link;
    case '5':
      return Member::Kind::directory;
    default:
      throw Error("{}: a member of type \"{}\", which no bundle holds", printable(name),
                  printable({&type, 1}));
  }
}

}  // namespace

void check_name(std::string_view name) {
  const auto wrong = [&](std::string_view what) { return Error("\"{}\" {}", printable(name), what); };
  if (name.empty() || name.size() > 4096) throw wrong("is no name for a file in a bundle");
  if (name.find('\0') != std::string_view::npos) throw wrong("holds a null character");
  if (name.front() == '/') throw wrong("is an absolute name");
  for (const auto part : split(name, '/'))
    if (part.empty() || part == "." || part == ".." || part.size() > 255) throw wrong("is not a plain name");
}

void check_link(std::string_view name, std::string_view target) {
  const auto wrong = [&](std::string_view what) {
    return Error("the link {} -> {} {}", printable(name), printable(target), what);
  };
  if (target.empty() || target.size() > 4095 || target.find('\0') != std::string_view::npos)
    throw wrong("has a target that cannot be");
  if (target.front() == '/') throw wrong("is absolute, so it leads out of the directory");
  auto left = split(name, '/').size() - 1;  // directories that it may go up
  bool at_front = true;
  for (const auto part : split(target, '/')) {
    if (part != "..") {
      at_front = at_front && (part.empty() || part == ".");
      continue;
    }
    if (!at_front) throw wrong("has \"..\" after a name: put it at the front");
    if (left-- == 0) throw wrong("leads out of the directory");
  }
}

std::string tar_header(const Member& member) {
  const bool directory = member.kind == Member::Kind::directory;
  const auto full_name = directory ? member.name + "/" : member.name;
  const auto size = member.kind == Member::Kind::file ? member.size : 0;
  const unsigned mode = directory || member.executable      ? 0755
                        : member.kind == Member::Kind::link ? 0777
                                                            : 0644;
  const char type = directory ? '5' : member.kind == Member::Kind::link ? '2' : '0';

  const auto [prefix, name, fits] = split_name(full_name);
  const bool link_fits = member.target.size() <= link_field.size, size_fits = size <= largest_octal;
  std::string records;
  if (!fits) records += pax_record("path", full_name);
  if (!link_fits) records += pax_record("linkpath", member.target);
  if (!size_fits) records += pax_record("size", std::to_string(size));
  return (records.empty() ? "" : pax_header(records)) +
         block_of(type, prefix, name, link_fits ? member.target : "", mode, size_fits ? size : 0);
}

TarHeaders::Next TarHeaders::block(std::string_view block) {
  if (get_octal(block, sum_field) != sum_of(block)) throw Error("a tar header with a wrong checksum");
  if (block.substr(magic_field.at, magic_field.size) != magic) throw Error("a header that is not ustar");
  const char type = block[type_field.at];
  const auto size = get_octal(block, size_field);
  if (type == 'x') {
    if (after_pax_) throw Error("two pax headers for one member");
    if (size > largest_pax) throw Error("a pax header of {} bytes", size);
    return {false, static_cast<std::size_t>(size), {}};
  }

  Member member;
  member.name = !path_.empty() ? path_ : std::string(get(block, name_field));
  if (const auto prefix = get(block, prefix_field); path_.empty() && !prefix.empty())
    member.name = fmt::format("{}/{}", prefix, member.name);
  member.kind = kind_of(type, member.name);
  if (member.kind == Member::Kind::directory && member.name.ends_with('/')) member.name.pop_back();
  member.executable = (get_octal(block, mode_field) & 0100) != 0;
  member.size = size_.empty() ? size : decimal(size_);
  if (member.kind != Member::Kind::file && member.size != 0)
    throw Error("{}: only a file has a size", printable(member.name));
  if (member.kind == Member::Kind::link)
    member.target = !link_path_.empty() ? link_path_ : std::string(get(block, link_field));
  check_name(member.name);
  if (member.kind == Member::Kind::link) check_link(member.name, member.target);
  *this = {};
  return {true, 0, std::move(member)};
}

void TarHeaders::pax(std::string_view records) {
  after_pax_ = true;
  while (!records.empty()) {
    const auto blank = records.find(' ');
    if (blank == std::string_view::npos) throw Error("a pax header that cannot be understood");
    const auto length = decimal(records.substr(0, blank));
    if (length <= blank + 1 || length > records.size() || records[length - 1] != '\n')
      throw Error("a pax header that cannot be understood");
    const auto record = records.substr(blank + 1, length - blank - 2);
    const auto equals = record.find('=');
    const auto key = record.substr(0, equals);
    if (equals == std::string_view::npos || equals + 1 == record.size())
      throw Error("a pax header that cannot be understood");
    const auto value = std::string(record.substr(equals + 1));
    if (key == "path")
      path_ = value;
    else if (key == "linkpath")
      link_path_ = value;
    else if (key == "size")
      size_ = value;
    else
      throw Error("a pax header with the key \"{}\", which no bundle has", printable(key));
    records.remove_prefix(length);
  }
}

}  // namespace longship::formats
