// SPDX-License-Identifier: Apache-2.0
// A source read in a thread of its own, a few pieces ahead of whoever wants its bytes; a watcher in another
// thread sees each piece too. With two of them in a row an archive is read, digested, unpacked, digested
// again and taken apart at the same time, in constant memory, and every stage sees the bytes in their order.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "bytes.h"

namespace longship::image {

class ReadAhead final : public ByteSource {
 public:
  static constexpr std::size_t piece_size = 256u << 10;
  static constexpr std::size_t pieces =
      32;  // enough for a while of small files, which take longer than large ones

  using Watcher = std::function<void(std::string_view piece)>;
  // Nobody else may use the source before the end of it was read here, or this is gone.
  explicit ReadAhead(ByteSource& source, Watcher watcher = nullptr);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override;  // waits for a read of the source that has begun, and for no further one

  // What the source throws is thrown here, after all that came before it was read.
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;
  [[nodiscard]] std::string_view take(std::span<char> room) override;
  // After the end was read: returns when the watcher has seen everything; throws what it threw.
  void finish();

 private:
  struct Piece {
    std::unique_ptr<char[]> bytes;  // made when it is needed first: most layers are small
    std::size_t size = 0;
  };

  void produce();
  void watch();
  [[nodiscard]] Piece* free_piece();  // null: nobody wants more
  void publish(std::size_t size, std::exception_ptr problem);
  // The piece that is being consumed, with something left in it; null at the end.
  [[nodiscard]] const Piece* current();

  ByteSource& source_;
  Watcher watcher_;
  std::array<Piece, pieces> ring_;
  std::size_t taken_ = 0;  // of the piece being consumed

  std::mutex mutex_;
  std::condition_variable bytes_came_, room_came_;
  std::uint64_t produced_ = 0, consumed_ = 0, watched_ = 0;  // pieces
  bool ended_ = false, abandoned_ = false;
  std::exception_ptr problem_, watchers_problem_;
  std::thread producer_, observer_;  // last: they use the others
};

}  // namespace longship::image
