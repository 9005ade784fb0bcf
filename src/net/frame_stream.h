// SPDX-License-Identifier: Apache-2.0
// Frames both ways between two programs, whatever carries them: a WebSocket that this side opened, or a pair
// of pipes, as ssh gives them. What a frame means is not known here.
//
// One thread sends while another receives; each of the two calls is for one thread at a time. close() may
// come from any thread and wakes both.
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace longship::net {

inline constexpr std::size_t largest_frame = std::size_t{16} << 20;  // a longer one ends the stream

class FrameStream {
 public:
  virtual ~FrameStream() = default;
  // Blocks while the other side does not read; an Error once the stream is closed, or nothing was taken for a
  // minute.
  virtual void send(std::string_view frame) = 0;
  // Nothing: none came within the timeout, or, if open() is false then, none will come any more.
  [[nodiscard]] virtual std::optional<std::string> receive(std::chrono::milliseconds timeout) = 0;
  [[nodiscard]] virtual bool open() const = 0;
  virtual void close() = 0;
  // Readable when receive() would not wait, for poll(); -1: there is no such descriptor.
  [[nodiscard]] virtual int fd() const = 0;
  // Why it is no longer open, as a sentence; empty if this side closed it.
  [[nodiscard]] virtual std::string ended_because() const = 0;
};

// Opens ws://, wss://, http:// or https://HOST[:PORT]/PATH with the token; an Error that says what to mend if
// that does not work, or `stop` comes first. Certificates are checked against `ca_file`, or the system's
// authorities if it is empty.
[[nodiscard]] std::unique_ptr<FrameStream> connect_websocket(const std::string& url, const std::string& token,
                                                             const std::string& ca_file = {},
                                                             const std::stop_token& stop = {});

// Each frame after its length as u32, little-endian. Takes the descriptors over.
[[nodiscard]] std::unique_ptr<FrameStream> stdio_frames(int in, int out);

}  // namespace longship::net
