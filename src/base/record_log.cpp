// SPDX-License-Identifier: Apache-2.0
#include "record_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#endif

#include "error.h"

namespace longship {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view magic("LSRLOG\0\1", 8);
constexpr std::size_t segment_header_size = 24;
constexpr std::size_t record_header_size = 16;
constexpr std::size_t window_size = std::size_t{256} << 10;

template <class Number>
void put(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    number = static_cast<Number>(number | static_cast<Number>(static_cast<unsigned char>(bytes[at + i]))
                                              << (8 * i));
  return number;
}

std::string segment_header(std::uint32_t index, std::uint64_t first_number) {
  std::string header(magic);
  put(header, first_number);
  put(header, index);
  put(header, crc32c(header));
  return header;
}

std::uint32_t record_crc(std::string_view record) {
  const auto length = crc32c(record.substr(0, 4));
  return crc32c(record.substr(8), length);
}

std::uint64_t size_of(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error::from_errno(errno, "cannot look at {}", path.string());
  return static_cast<std::uint64_t>(status.st_size);
}

// Links are not followed: a log may lie in a directory that others can write.
Fd open_segment_file(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0 && errno != ENOENT) throw Error::from_errno(errno, "cannot open {}", path.string());
  return Fd(fd);
}

std::size_t read_at(int fd, char* to, std::size_t size, std::uint64_t offset, const fs::path& path) {
  std::size_t done = 0;
  while (done < size) {
    const auto count = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error::from_errno(errno, "cannot read {}", path.string());
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

enum class Header { good, torn };

// A header that is short, or of which only zeros arrived, was torn by a crash; anything else is somebody
// else's file.
Header check_header(std::string_view header, std::uint32_t index, const fs::path& path) {
  if (header.size() == segment_header_size && header.starts_with(magic) &&
      get<std::uint32_t>(header, 20) == crc32c(header.substr(0, 20)) &&
      get<std::uint32_t>(header, 16) == index)
    return Header::good;
  const bool begun =
      header.size() < segment_header_size && header.substr(0, 8) == magic.substr(0, header.size());
  if (begun || std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; }))
    return Header::torn;
  throw Error("{} is not a record log, or its beginning is damaged", path.string());
}

#if defined(__x86_64__)
// Asked of the processor directly: the compilers' __builtin_cpu_supports needs a run-time library that not
// all have.
bool has_crc_instruction() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}

__attribute__((target("sse4.2,crc32"))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                            std::uint32_t so_far) {
  std::uint64_t crc = ~so_far;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    crc = _mm_crc32_u64(crc, word);
    bytes.remove_prefix(8);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
  return ~rest;
}
#endif

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}

}  // namespace

fs::path record_log_segment(const fs::path& path, std::uint32_t index) {
  if (index == 0) return path;
  return path.string() + fmt::format(".{}", index);
}

RecordLogWriter::RecordLogWriter(fs::path path, RecordLogOptions options)
    : path_(std::move(path)), options_(options) {
  open_last_segment();
}

std::uint64_t RecordLogWriter::append(std::string_view payload) {
  if (payload.size() > largest_payload)
    throw Error("a record of {} bytes is too large for {}", payload.size(), path_.string());
  if (end_ >= options_.segment_bytes) begin_segment(index_ + 1);

  buffer_.clear();
  put(buffer_, static_cast<std::uint32_t>(payload.size()));
  put(buffer_, std::uint32_t{0});
  put(buffer_, next_number_);
  buffer_.append(payload);
  std::string crc;
  put(crc, record_crc(buffer_));
  buffer_.replace(4, 4, crc);

  write_at_end(buffer_);
  if (options_.durable) sync();
  return next_number_++;
}

void RecordLogWriter::sync() {
  if (::fdatasync(segment_.get()) != 0) throw Error::from_errno(errno, "cannot sync {}", path_.string());
}

void RecordLogWriter::open_last_segment() {
  std::uint32_t last = 0;
  while (fs::exists(fs::symlink_status(record_log_segment(path_, last + 1)))) ++last;

  // A crash while a segment was begun leaves one without a header: it goes, and the one before is the last.
  for (;; --last) {
    const auto path = record_log_segment(path_, last);
    segment_ = open_segment_file(path, O_RDWR);
    if (!segment_) return begin_segment(last);
    std::string header(segment_header_size, '\0');
    header.resize(read_at(segment_.get(), header.data(), header.size(), 0, path));
    if (check_header(header, last, path) == Header::good) {
      index_ = last;
      break;
    }
    bytes_cut_ += size_of(segment_.get(), path);
    if (last == 0) return begin_segment(0);
    if (::unlink(path.c_str()) != 0) throw Error::from_errno(errno, "cannot remove {}", path.string());
  }

  RecordLogReader reader(path_);
  reader.enter(reader.open_segment(index_).value());
  while (reader.read_record()) {
  }
  end_ = reader.offset_;
  next_number_ = reader.number_;
  const auto size = size_of(segment_.get(), path_);
  bytes_cut_ += size - end_;
  if (size > end_ && ::ftruncate(segment_.get(), static_cast<off_t>(end_)) != 0)
    throw Error::from_errno(errno, "cannot cut the torn end off {}", path_.string());
}

void RecordLogWriter::begin_segment(std::uint32_t index) {
  const auto path = record_log_segment(path_, index);
  if (index > 0 && options_.durable) sync();
  Fd next = open_segment_file(path, O_RDWR | O_CREAT | O_TRUNC);
  if (!next) throw Error::from_errno(errno, "cannot make {}", path.string());
  std::swap(segment_, next);
  const auto old_index = std::exchange(index_, index);
  const auto old_end = std::exchange(end_, 0);
  try {
    write_at_end(segment_header(index, next_number_));
  } catch (...) {
    std::swap(segment_, next);
    index_ = old_index;
    end_ = old_end;
    ::unlink(path.c_str());
    throw;
  }
}

void RecordLogWriter::write_at_end(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count =
        ::pwrite(segment_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int number = count < 0 ? errno : ENOSPC;
      // If this fails too, the torn record stays: it is overwritten by the next append, and readers stop
      // before it.
      if (::ftruncate(segment_.get(), static_cast<off_t>(end_)) != 0) errno = number;
      throw Error::from_errno(number, "cannot write {}", record_log_segment(path_, index_).string());
    }
    done += static_cast<std::size_t>(count);
  }
  end_ += bytes.size();
}

RecordLogReader::RecordLogReader(fs::path path) : path_(std::move(path)) {}

std::optional<LogRecord> RecordLogReader::next() {
  if (!segment_) {
    auto first = open_segment(0);
    if (!first) return {};
    enter(std::move(*first));
  }
  for (;;) {
    if (auto record = read_record()) return record;
    auto successor = open_segment(index_ + 1);
    if (!successor) return {};
    // Once more: this segment may have grown after we looked and before its successor began.
    if (auto record = read_record()) return record;
    if (successor->first_number != number_)
      throw Error("{} is damaged: the records from {} to {} are lost", path_.string(), number_,
                  static_cast<std::int64_t>(successor->first_number) - 1);
    enter(std::move(*successor));
  }
}

std::uint64_t RecordLogReader::bytes_beyond() const {
  if (!segment_) return 0;
  const auto size = size_of(segment_.get(), path_);
  return size > offset_ ? size - offset_ : 0;
}

std::uint64_t RecordLogReader::records_beyond() const {
  std::string bytes(bytes_beyond(), '\0');
  if (!bytes.empty()) bytes.resize(read_at(segment_.get(), bytes.data(), bytes.size(), offset_, path_));
  std::uint64_t count = 0, last = number_;
  for (std::string_view rest = bytes; rest.size() >= record_header_size;) {
    const auto number = get<std::uint64_t>(rest, 8);
    const std::size_t size = record_header_size + get<std::uint32_t>(rest, 0);
    const bool may_be_one = number > last && number - number_ < bytes.size() && size <= rest.size();
    if (!may_be_one || get<std::uint32_t>(rest, 4) != record_crc(rest.substr(0, size))) {
      rest.remove_prefix(1);
      continue;
    }
    ++count;
    last = number;
    rest.remove_prefix(size);
  }
  return count;
}

std::optional<RecordLogReader::Segment> RecordLogReader::open_segment(std::uint32_t index) const {
  const auto path = record_log_segment(path_, index);
  Fd file = open_segment_file(path, O_RDONLY);
  if (!file) return {};
  std::string header(segment_header_size, '\0');
  header.resize(read_at(file.get(), header.data(), header.size(), 0, path));
  if (check_header(header, index, path) == Header::torn) return {};
  return Segment{std::move(file), index, get<std::uint64_t>(header, 8)};
}

void RecordLogReader::enter(Segment segment) {
  segment_ = std::move(segment.file);
  index_ = segment.index;
  number_ = segment.first_number;
  offset_ = segment_header_size;
  window_.clear();
}

std::optional<LogRecord> RecordLogReader::read_record() {
  if (const auto record = look_at_record()) {
    offset_ += record_header_size + record->payload.size();
    ++number_;
    return record;
  }
  window_.clear();  // what is not whole yet is read anew the next time
  return {};
}

std::optional<LogRecord> RecordLogReader::look_at_record() {
  const auto header = look_at(record_header_size);
  if (header.empty()) return {};
  const std::size_t length = get<std::uint32_t>(header, 0);
  if (length > RecordLogWriter::largest_payload || get<std::uint64_t>(header, 8) != number_) return {};
  const auto record = look_at(record_header_size + length);
  if (record.empty() || get<std::uint32_t>(record, 4) != record_crc(record)) return {};
  return LogRecord{number_, record.substr(record_header_size)};
}

std::string_view RecordLogReader::look_at(std::size_t size) {
  if (offset_ < window_offset_ || offset_ + size > window_offset_ + window_.size()) {
    window_offset_ = offset_;
    // Never more than the file has: a length that promises 16 MiB must not cost them.
    const auto left = std::min<std::uint64_t>(bytes_beyond(), std::max(size, window_size));
    window_.resize(left);
    window_.resize(read_at(segment_.get(), window_.data(), left, offset_, path_));
    if (window_.size() < size) return {};
  }
  return std::string_view(window_).substr(offset_ - window_offset_, size);
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far) {
#if defined(__x86_64__)
  static const bool by_instruction = has_crc_instruction();
  if (by_instruction) return crc32c_by_instruction(bytes, so_far);
#endif
  return detail::crc32c_by_table(bytes, so_far);
}

std::uint32_t detail::crc32c_by_table(std::string_view bytes, std::uint32_t so_far) {
  static constexpr auto table = make_crc_table();
  std::uint32_t crc = ~so_far;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

}  // namespace longship
