// SPDX-License-Identifier: Apache-2.0
#include "mailbox.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace longship::collective {
namespace {

constexpr Tag goodbye = ~Tag{0};

// A frame beyond this is not one of ours: the stream is out of step.
constexpr std::uint64_t longest = std::uint64_t{1} << 40;

void check_fits(std::size_t length, std::size_t buffer) {
  if (length > buffer) throw Error("a message of {} bytes came for a buffer of {}", length, buffer);
}

}  // namespace

void Mailbox::send(Tag tag, std::span<const std::byte> bytes, Completion& completion) {
  outgoing_.push_back({{tag, bytes.size()}, bytes, &completion});
  write();
}

// Nobody is there to read it any more, and nobody will miss it.
void Mailbox::drop_outgoing() {
  for (auto& message : outgoing_) message.completion->done = true;
  outgoing_.clear();
}

void Mailbox::receive(Tag tag, std::span<std::byte> buffer, Completion& completion) {
  const auto kept =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& message) { return message.tag == tag; });
  if (kept == kept_.end()) {
    expected_.push_back({tag, buffer, &completion});
    return;
  }
  check_fits(kept->bytes.size(), buffer.size());
  std::copy(kept->bytes.begin(), kept->bytes.end(), buffer.begin());
  completion = {true, kept->bytes.size()};
  kept_.erase(kept);
}

bool Mailbox::progress() {
  const bool wrote = write();
  const bool read_something = read();
  return wrote || read_something;
}

void Mailbox::say_goodbye() {
  outgoing_.push_back({{goodbye, 0}, {}, &goodbye_});
  write();
}

bool Mailbox::write() {
  try {
    return write_outgoing();
  } catch (const Error&) {
    read();  // it may have left in peace: then its goodbye is still to be read
    if (!peer_left_) throw;
    drop_outgoing();
    return true;
  }
}

bool Mailbox::write_outgoing() {
  bool moved = false;
  while (!outgoing_.empty()) {
    auto& message = outgoing_.front();
    const auto frame = std::as_bytes(std::span(&message.frame, 1));
    const std::size_t of_frame = std::min(message.written, frame.size());
    const std::size_t written =
        stream_->write(frame.subspan(of_frame), message.bytes.subspan(message.written - of_frame));
    message.written += written;
    moved = moved || written > 0;
    if (message.written < frame.size() + message.bytes.size()) break;
    message.completion->bytes = message.bytes.size();
    message.completion->done = true;
    outgoing_.pop_front();
  }
  return moved;
}

bool Mailbox::read() {
  bool moved = false;
  while (!peer_left_ && (frame_read_ == sizeof frame_ ? read_body() : read_frame())) moved = true;
  return moved;
}

bool Mailbox::read_frame() {
  const auto bytes = std::as_writable_bytes(std::span(&frame_, 1)).subspan(frame_read_);
  const std::size_t got = stream_->read(bytes);
  frame_read_ += got;
  if (frame_read_ == sizeof frame_) begin_body();
  return got > 0;
}

void Mailbox::begin_body() {
  if (frame_.tag == goodbye) {
    peer_left_ = true;
    return;
  }
  if (frame_.length > longest) throw Error("a message of {} bytes cannot be", frame_.length);
  const auto length = static_cast<std::size_t>(frame_.length);
  const auto expected = std::find_if(expected_.begin(), expected_.end(),
                                     [&](const Expected& receiver) { return receiver.tag == frame_.tag; });
  if (expected == expected_.end()) {
    keeping_.resize(length);
    target_ = keeping_;
    receiver_ = nullptr;
  } else {
    check_fits(length, expected->buffer.size());
    target_ = expected->buffer.first(length);
    receiver_ = expected->completion;
    expected_.erase(expected);
  }
  body_read_ = 0;
  if (length == 0) end_body();
}

bool Mailbox::read_body() {
  const std::size_t got = stream_->read(target_.subspan(body_read_));
  body_read_ += got;
  if (body_read_ == target_.size()) end_body();
  return got > 0;
}

void Mailbox::end_body() {
  frame_read_ = 0;
  if (receiver_ != nullptr) {
    receiver_->bytes = target_.size();
    receiver_->done = true;
    return;
  }
  // Somebody may have asked while the body was coming in.
  const auto expected = std::find_if(expected_.begin(), expected_.end(),
                                     [&](const Expected& receiver) { return receiver.tag == frame_.tag; });
  if (expected == expected_.end()) {
    kept_.push_back({frame_.tag, std::move(keeping_)});
  } else {
    check_fits(keeping_.size(), expected->buffer.size());
    std::copy(keeping_.begin(), keeping_.end(), expected->buffer.begin());
    *expected->completion = {true, keeping_.size()};
    expected_.erase(expected);
  }
  keeping_ = {};
}

}  // namespace longship::collective
