// SPDX-License-Identifier: Apache-2.0
// An append-only log of records: one writer, any number of readers, also while it grows, also on a network
// file system, and without locks, clocks or renames. Whatever a crash leaves at the end is cut off by the
// next writer.
//
// The format, all numbers little-endian:
//
//   PATH, PATH.1, PATH.2, …   segments; the writer begins the next one when a segment has reached its size
//   segment = header, records until the end of the file
//   header  = "LSRLOG\0\1"  8 bytes
//             u64           number of the segment's first record
//             u32           index of the segment: 0 for PATH, 1 for PATH.1, …
//             u32           CRC-32C of the 20 bytes before
//   record  = u32           length of the payload, at most 16 MiB
//             u32           CRC-32C of length, number and payload
//             u64           number: counts from 0, without gaps, across segments
//             payload
//
// Rules:
// - A record is there when all of it is there and its CRC is right. The first that is not ends the log as far
// as a
//   reader is concerned: a torn tail, or one still being written. It may become whole later, so a reader asks
//   again.
// - A segment is complete once its successor has a whole header. What follows the last good record of a
// complete
//   segment is damage: if the successor's first number does not continue there, records were lost, and it is
//   an error.
// - The writer never changes a good record. When it opens a log it truncates the last segment to its last
// good record
//   and goes on with the next number. After a failed append (full disk) it truncates likewise: the log is as
//   before.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "fd.h"

namespace longship {

struct RecordLogOptions {
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  bool durable = false;  // fdatasync after each append
};

class RecordLogWriter {
 public:
  static constexpr std::size_t largest_payload = std::size_t{16} << 20;

  // Opens the log for appending; makes it if it is not there. An Error if the file is something else.
  explicit RecordLogWriter(std::filesystem::path path, RecordLogOptions options = {});

  // The record's number. After an Error nothing was appended, and a later call may succeed.
  std::uint64_t append(std::string_view payload);
  void sync();

  [[nodiscard]] std::uint64_t next_number() const { return next_number_; }
  [[nodiscard]] std::uint64_t bytes_cut() const { return bytes_cut_; }  // torn tail found when it was opened

 private:
  void open_last_segment();
  void begin_segment(std::uint32_t index);
  void write_at_end(std::string_view bytes);

  std::filesystem::path path_;
  RecordLogOptions options_;
  Fd segment_;
  std::uint32_t index_ = 0;
  std::uint64_t end_ = 0;  // of the last good record in the segment
  std::uint64_t next_number_ = 0;
  std::uint64_t bytes_cut_ = 0;
  std::string buffer_;  // header and payload of one record, so that it is one write
};

struct LogRecord {
  std::uint64_t number = 0;
  std::string_view payload;  // valid until the reader's next call
};

class RecordLogReader {
 public:
  // The log need not be there yet.
  explicit RecordLogReader(std::filesystem::path path);

  // The next record; nothing if the log ends here for now: ask again later. An Error if records were lost or
  // the file is something else.
  [[nodiscard]] std::optional<LogRecord> next();

  // Where the next record will be: what lies before is there for good.
  struct Position {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] Position position() const { return {index_, offset_}; }

  // Bytes after the last record that next() returned which are no whole record: 0 in a log that was closed
  // well.
  [[nodiscard]] std::uint64_t bytes_beyond() const;

  // Whole records among those bytes. A crash tears the last record only, if the writer syncs: where there are
  // some, what lies before them has been damaged. Looks at every byte: for a person who asks, not for a loop.
  [[nodiscard]] std::uint64_t records_beyond() const;

 private:
  friend class RecordLogWriter;  // finds the end of the last segment in the same way
  struct Segment {
    Fd file;
    std::uint32_t index;
    std::uint64_t first_number;
  };
  [[nodiscard]] std::optional<Segment> open_segment(std::uint32_t index) const;
  void enter(Segment segment);
  [[nodiscard]] std::optional<LogRecord> read_record();
  [[nodiscard]] std::optional<LogRecord> look_at_record();
  [[nodiscard]] std::string_view look_at(std::size_t size);  // empty if the segment has not that much

  std::filesystem::path path_;
  Fd segment_;
  std::uint32_t index_ = 0;
  std::uint64_t offset_ = 0;  // of the next record in the segment
  std::uint64_t number_ = 0;  // and its number
  std::string window_;        // a part of the segment, beginning at window_offset_
  std::uint64_t window_offset_ = 0;
};

// PATH for 0, PATH.3 for 3.
[[nodiscard]] std::filesystem::path record_log_segment(const std::filesystem::path& path,
                                                       std::uint32_t index);

// CRC-32C (Castagnoli), by the processor's instruction where it has one.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);

namespace detail {
// The table alone, for its test.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t so_far = 0);
}  // namespace detail

}  // namespace longship
