// SPDX-License-Identifier: Apache-2.0
#include "sparse.h"

#include <algorithm>
#include <cstring>

namespace longship::image {
namespace {

constexpr std::string_view gnu_magic("ustar  \0", 8);
constexpr std::size_t entry_size = 24;  // offset and length, 12 bytes each

// Entries up to the first that is not used; false if there was one.
bool add_entries(std::vector<Piece>& pieces, std::string_view entries) {
  for (; !entries.empty(); entries.remove_prefix(entry_size)) {
    if (entries[12] == '\0') return false;
    pieces.push_back(
        {size_of(entries.substr(0, 12), "map of holes"), size_of(entries.substr(12, 12), "map of holes")});
  }
  return true;
}

// Lines of digits in whole blocks: pax 1.0's map.
class Digits {
 public:
  Digits(ByteSource& source, std::size_t most) : source_(source), left_(most) {}

  std::uint64_t number() {
    std::string text;
    for (char c = character(); c != '\n'; c = character()) {
      text += c;
      if (text.size() > longest) throw Error("its map of holes is malformed");
    }
    return decimal<std::uint64_t>(text, "map of holes");
  }

 private:
  static constexpr std::size_t longest = 20;

  char character() {
    if (at_ == block_.size()) {
      if (left_ < block_.size()) throw Error("its map of holes is too long");
      left_ -= block_.size();
      if (read_fully(source_, block_.data(), block_.size()) != block_.size())
        throw Error("its map of holes is longer than the member");
      at_ = 0;
    }
    return block_[at_++];
  }

  ByteSource& source_;
  std::size_t left_;
  TarBlock block_{};
  std::size_t at_ = block_.size();
};

std::vector<Piece> pieces_in_front(ByteSource& content, std::size_t most) {
  Digits digits(content, most);
  std::vector<Piece> pieces;
  // Not reserved: the number is a stranger's, the lines behind it are there or not.
  for (std::uint64_t count = digits.number(); count > 0; --count) {
    const std::uint64_t offset = digits.number();
    pieces.push_back({offset, digits.number()});
  }
  return pieces;
}

}  // namespace

void check_map(const SparseMap& map, std::uint64_t stored) {
  std::uint64_t end = 0, sum = 0;
  for (const auto& piece : map.pieces) {
    if (piece.offset < end) throw Error("the pieces in its map of holes overlap, or are not in order");
    if (piece.offset > map.size || piece.length > map.size - piece.offset)
      throw Error("its map of holes goes beyond its {} bytes", map.size);
    end = piece.offset + piece.length;
    sum += piece.length;  // no more than map.size, as they do not overlap
  }
  if (sum != stored) throw Error("its map of holes wants {} bytes, and the archive has {}", sum, stored);
}

void SparseRecords::apply(std::string_view key, std::string_view value) {
  any_ = true;
  if (key == "name") {
    name_ = value;
    return;
  }
  if (key == "map") return apply_map(value);
  const auto number = decimal<std::uint64_t>(value, key);
  if (key == "size" || key == "realsize") size_ = number;
  if (key == "major") major_ = number;
  if (key == "minor") minor_ = number;
  if (key == "numblocks") count_ = number;
  if (key == "offset") offset_ = number;
  if (key != "numbytes") return;
  if (!offset_) throw Error("its map of holes has a length without an offset");
  pieces_.push_back({*offset_, number});
  offset_.reset();
}

void SparseRecords::apply_map(std::string_view text) {
  pieces_.clear();
  const auto numbers = text.empty() ? std::vector<std::string_view>() : split(text, ',');
  if (numbers.size() % 2 != 0) throw Error("its map of holes has an offset without a length");
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    pieces_.push_back({decimal<std::uint64_t>(numbers[i], "map of holes"),
                       decimal<std::uint64_t>(numbers[i + 1], "map of holes")});
}

SparseMap SparseRecords::map(ByteSource& content, std::size_t most) && {
  if (!size_) throw Error("it is a sparse file that does not say how large it is");
  if (major_ > 1 || (major_ == 1 && minor_ != 0))
    throw Error("it is a sparse file of the format {}.{}, which is not known", major_, minor_);
  if (major_ == 1) return {pieces_in_front(content, most), *size_};
  if (offset_) throw Error("its map of holes has an offset without a length");
  if (count_ && *count_ != pieces_.size())
    throw Error("its map of holes should have {} pieces, and has {}", *count_, pieces_.size());
  return {std::move(pieces_), *size_};
}

// Four entries from 386 on, then whether blocks with 21 more each follow, then the size of the file.
SparseMap old_sparse_map(const TarBlock& header, const std::function<TarBlock()>& next_block,
                         std::size_t most) {
  if (field(header, 257, 8) != gnu_magic) throw Error("it is a sparse file of a kind that is not known");
  SparseMap map;
  map.size = size_of(field(header, 483, 12), "size");
  bool more = add_entries(map.pieces, field(header, 386, 4 * entry_size));
  bool follows = header[482] != 0;
  for (std::size_t read = 0; follows; read += header.size()) {
    if (read + header.size() > most) throw Error("its map of holes is too long");
    const TarBlock block = next_block();
    more = more && add_entries(map.pieces, field(block, 0, 21 * entry_size));
    follows = block[504] != 0;
  }
  return map;
}

SparseSource::Stretch SparseSource::stretch() {
  const auto& pieces = map_.pieces;
  while (next_ < pieces.size() && at_ == pieces[next_].offset + pieces[next_].length) ++next_;
  if (next_ == pieces.size()) return {map_.size - at_, true};
  const auto& piece = pieces[next_];
  if (at_ < piece.offset) return {piece.offset - at_, true};
  return {piece.offset + piece.length - at_, false};
}

std::string_view SparseSource::take(std::span<char> room) {
  static constexpr std::array<char, 64 * 1024> zeros{};
  const auto [length, is_hole] = stretch();
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length));
  if (most == 0) return {};
  const std::string_view bytes =
      is_hole ? std::string_view(zeros.data(), std::min(most, zeros.size())) : source_.take(room.first(most));
  at_ += bytes.size();
  return bytes;
}

std::size_t SparseSource::read(char* into, std::size_t size) {
  const auto bytes = take({into, size});
  if (!bytes.empty() && bytes.data() != into) std::memcpy(into, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace longship::image
