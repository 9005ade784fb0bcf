// SPDX-License-Identifier: Apache-2.0
// One ring of pieces with one writer and two readers, each of which counts the pieces it is done with. A
// piece is written again when both have it behind them.
#include "read_ahead.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace longship::image {
namespace {

// Who has nothing left waits for some pieces: to be woken for each would cost time.
constexpr std::uint64_t some = 4;

}  // namespace

ReadAhead::ReadAhead(ByteSource& source, Watcher watcher) : source_(source), watcher_(std::move(watcher)) {
  if (watcher_ == nullptr) watched_ = std::numeric_limits<std::uint64_t>::max();
  producer_ = std::thread([this] { produce(); });
  if (watcher_ != nullptr) observer_ = std::thread([this] { watch(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  bytes_came_.notify_all();
  room_came_.notify_all();
  producer_.join();
  if (observer_.joinable()) observer_.join();
}

void ReadAhead::produce() {
  while (Piece* piece = free_piece()) {
    std::size_t size = 0;
    std::exception_ptr problem;
    try {
      if (piece->bytes == nullptr) piece->bytes = std::make_unique_for_overwrite<char[]>(piece_size);
      while (size < piece_size) {
        const std::size_t got = source_.read(piece->bytes.get() + size, piece_size - size);
        if (got == 0) break;
        size += got;
      }
    } catch (...) {
      problem = std::current_exception();
    }
    publish(size, problem);
    if (size < piece_size) return;
  }
}

ReadAhead::Piece* ReadAhead::free_piece() {
  std::unique_lock lock(mutex_);
  const auto full = [this] { return produced_ - std::min(consumed_, watched_); };
  // Once there is no room it waits for some more than one piece's: to be woken costs time.
  if (full() == pieces) room_came_.wait(lock, [&] { return abandoned_ || full() <= pieces / 2; });
  return abandoned_ ? nullptr : &ring_[produced_ % pieces];
}

void ReadAhead::publish(std::size_t size, std::exception_ptr problem) {
  bool somebody_waits_for_it = false;
  {
    const std::lock_guard lock(mutex_);
    ring_[produced_ % pieces].size = size;
    if (size > 0) ++produced_;
    ended_ = size < piece_size;
    problem_ = std::move(problem);
    somebody_waits_for_it = ended_ || consumed_ + some == produced_ || watched_ + some == produced_;
  }
  if (somebody_waits_for_it) bytes_came_.notify_all();
}

void ReadAhead::watch() {
  try {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (watched_ == produced_)
        bytes_came_.wait(lock, [this] { return abandoned_ || ended_ || watched_ + some <= produced_; });
      if (abandoned_ || watched_ == produced_) return;
      const Piece& piece = ring_[watched_ % pieces];
      lock.unlock();
      watcher_({piece.bytes.get(), piece.size});
      lock.lock();
      ++watched_;
      lock.unlock();
      room_came_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    watchers_problem_ = std::current_exception();
    watched_ = std::numeric_limits<std::uint64_t>::max();  // the others go on without it
    room_came_.notify_all();
  }
}

const ReadAhead::Piece* ReadAhead::current() {
  // Without a lock: a piece that was published, and not yet given back, belongs to its readers.
  if (taken_ > 0 && taken_ < ring_[consumed_ % pieces].size) return &ring_[consumed_ % pieces];
  std::unique_lock lock(mutex_);
  if (taken_ > 0) {
    ++consumed_;
    taken_ = 0;
    room_came_.notify_all();
  }
  if (consumed_ == produced_)
    bytes_came_.wait(lock, [this] { return ended_ || consumed_ + some <= produced_; });
  if (consumed_ < produced_) return &ring_[consumed_ % pieces];
  if (problem_) std::rethrow_exception(problem_);
  return nullptr;
}

std::string_view ReadAhead::take(std::span<char> room) {
  const Piece* piece = room.empty() ? nullptr : current();
  if (piece == nullptr) return {};
  const std::string_view view(piece->bytes.get() + taken_, std::min(room.size(), piece->size - taken_));
  taken_ += view.size();
  return view;
}

std::size_t ReadAhead::read(char* into, std::size_t size) {
  const auto view = take({into, size});
  if (!view.empty()) std::memcpy(into, view.data(), view.size());
  return view.size();
}

void ReadAhead::finish() {
  std::unique_lock lock(mutex_);
  room_came_.wait(lock, [this] { return watched_ >= produced_; });
  if (watchers_problem_) std::rethrow_exception(watchers_problem_);
}

}  // namespace longship::image
