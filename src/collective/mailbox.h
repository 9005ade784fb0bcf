// SPDX-License-Identifier: Apache-2.0
// Tagged messages to and from one rank, cut out of a Stream.
//
// On the stream each message is a Frame and its bytes. One that nobody asked for yet is kept until somebody
// does, so a rank that is ahead never blocks what comes behind it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "stream.h"
#include "transport.h"

namespace longship::collective {

class Mailbox {
 public:
  explicit Mailbox(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void send(Tag tag, std::span<const std::byte> bytes, Completion& completion);
  void receive(Tag tag, std::span<std::byte> buffer, Completion& completion);
  bool progress();  // true if anything moved; throws if the peer is gone

  void say_goodbye();  // the last message
  [[nodiscard]] bool peer_left() const { return peer_left_; }
  [[nodiscard]] bool has_unsent() const { return !outgoing_.empty(); }

 private:
  struct Frame {
    Tag tag = 0;
    std::uint64_t length = 0;
  };
  struct Outgoing {
    Frame frame;
    std::span<const std::byte> bytes;
    Completion* completion;
    std::size_t written = 0;  // of frame and bytes together
  };
  struct Expected {
    Tag tag;
    std::span<std::byte> buffer;
    Completion* completion;
  };
  struct Kept {
    Tag tag;
    std::vector<std::byte> bytes;
  };

  bool write();
  bool write_outgoing();
  void drop_outgoing();
  bool read();
  bool read_frame();
  bool read_body();
  void begin_body();
  void end_body();

  std::unique_ptr<Stream> stream_;
  std::deque<Outgoing> outgoing_;
  std::vector<Expected> expected_;
  std::deque<Kept> kept_;
  bool peer_left_ = false;
  Completion goodbye_;

  // The message being read: its frame, then its body into `target_`, which is a receiver's buffer or
  // `keeping_`.
  Frame frame_;
  std::size_t frame_read_ = 0;
  std::span<std::byte> target_;
  std::size_t body_read_ = 0;
  Completion* receiver_ = nullptr;
  std::vector<std::byte> keeping_;
};

}  // namespace longship::collective
