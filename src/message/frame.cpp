// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <cstdint>

#include "base/error.h"
#include "hub_messages.h"

namespace longship::message {
namespace {

constexpr std::size_t length_bytes = 4;

void put_length(char* at, std::size_t length) {
  for (std::size_t i = 0; i < length_bytes; ++i) at[i] = static_cast<char>((length >> (8 * i)) & 0xff);
}

std::size_t length_at(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return length;
}

void check_size(std::size_t size) {
  if (size > largest_frame)
    throw Error("a frame of {} bytes: the largest between hub and agent is {}", size, largest_frame);
}

}  // namespace

std::string begin_frame() {
  std::string frame(length_bytes, '\0');
  frame.reserve(256);
  return frame;
}

void finish_frame(std::string& frame, std::string_view payload) {
  check_size(frame.size() + payload.size());
  put_length(frame.data(), frame.size() - length_bytes);
  frame += payload;
}

FrameParts parts_of(std::string_view frame) {
  check_size(frame.size());
  if (frame.size() < length_bytes) throw Error("a frame of {} bytes is too short to be one", frame.size());
  const auto length = length_at(frame);
  frame.remove_prefix(length_bytes);
  if (length > frame.size())
    throw Error("a frame says that its JSON has {} bytes, but only {} follow", length, frame.size());
  return {frame.substr(0, length), frame.substr(length)};
}

std::string with_length(std::string_view frame) {
  check_size(frame.size());
  std::string result(length_bytes, '\0');
  result.reserve(length_bytes + frame.size());
  put_length(result.data(), frame.size());
  return result += frame;
}

void FrameSplitter::add(std::string_view bytes) {
  if (at_ > 0 && at_ >= pending_.size() / 2) {  // moved at most as often as it was read
    pending_.erase(0, at_);
    at_ = 0;
  }
  pending_ += bytes;
}

bool FrameSplitter::next(std::string& frame) {
  const auto rest = std::string_view(pending_).substr(at_);
  if (rest.size() < length_bytes) return false;
  const auto length = length_at(rest);
  if (length < length_bytes) throw Error("a frame of {} bytes is too short to be one", length);
  check_size(length);
  if (rest.size() - length_bytes < length) return false;
  frame = rest.substr(length_bytes, length);
  at_ += length_bytes + length;
  return true;
}

}  // namespace longship::message
