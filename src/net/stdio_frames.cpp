// SPDX-License-Identifier: Apache-2.0
// Frames over two descriptors: pipes, or a socket.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

#include "base/error.h"
#include "base/fd.h"
#include "frame_stream.h"

namespace longship::net {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
constexpr auto patience = 60s;

std::uint32_t length_at(std::string_view bytes) {
  std::uint32_t length = 0;
  for (int i = 3; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return length;
}

std::string length_bytes(std::size_t length) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    throw Error::from_errno(errno, "cannot use descriptor {} for frames", fd);
}

class StdioFrames final : public FrameStream {
 public:
  StdioFrames(int in, int out) : in_(in), out_(out), closed_(::eventfd(0, EFD_CLOEXEC)) {
    if (!closed_) throw Error::from_errno(errno, "cannot make an eventfd");
    set_nonblocking(in);
    set_nonblocking(out);
    std::signal(SIGPIPE, SIG_IGN);  // an error instead of the end
  }

  void send(std::string_view frame) override {
    if (frame.size() > largest_frame) throw Error("a frame of {} bytes is too long to be sent", frame.size());
    const std::string head = length_bytes(frame.size());
    write(head);
    write(frame);
  }

  std::optional<std::string> receive(std::chrono::milliseconds timeout) override {
    const auto deadline = SteadyClock::now() + timeout;
    while (true) {
      if (auto frame = take()) return frame;
      if (!open_) return {};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
      if (!ready(in_.get(), POLLIN, std::max(left, 0ms))) return {};
      read_some();
    }
  }

  bool open() const override { return open_; }
  int fd() const override { return in_.get(); }
  std::string ended_because() const override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  void close() override {
    end("");
    const std::uint64_t one = 1;
    if (::write(closed_.get(), &one, sizeof one) < 0) return;  // cannot be full
  }

 private:
  void end(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!open_.exchange(false)) return;
    reason_ = reason;
  }

  std::optional<std::string> take() {
    if (pending_.size() - at_ < 4) return {};
    const std::size_t length = length_at(std::string_view(pending_).substr(at_));
    if (length > largest_frame) {
      end("the other side sent what is no frame");
      pending_.clear();
      at_ = 0;
      return {};
    }
    if (pending_.size() - at_ < 4 + length) return {};
    std::string frame = pending_.substr(at_ + 4, length);
    at_ += 4 + length;
    if (at_ > pending_.size() / 2) {
      pending_.erase(0, at_);
      at_ = 0;
    }
    return frame;
  }

  void read_some() {
    static thread_local std::array<char, 256 << 10> buffer;
    const auto got = ::read(in_.get(), buffer.data(), buffer.size());
    if (got > 0)
      pending_.append(buffer.data(), static_cast<std::size_t>(got));
    else if (got == 0)
      end(pending_.size() == at_ ? "the other side ended" : "the other side ended in the middle of a frame");
    else if (errno != EAGAIN && errno != EINTR)
      end(Error::from_errno(errno, "cannot read from the other side").what());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!open_) throw Error("the connection is closed: {}", because());
      const auto written = ::write(out_.get(), bytes.data(), bytes.size());
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        if (!ready(out_.get(), POLLOUT, patience) && open_) {
          end("the other side did not read for a minute");
        }
      } else if (errno != EINTR) {
        end(Error::from_errno(errno, "cannot write to the other side").what());
      }
    }
  }

  std::string because() const {
    const auto reason = ended_because();
    return reason.empty() ? "this side closed it" : reason;
  }

  // False: the time is over, or close() was called.
  bool ready(int fd, short events, std::chrono::milliseconds timeout) {
    std::array<pollfd, 2> waited = {pollfd{fd, events, 0}, pollfd{closed_.get(), POLLIN, 0}};
    const int count = ::poll(waited.data(), waited.size(), static_cast<int>(timeout.count()));
    return count > 0 && waited[0].revents != 0;
  }

  Fd in_, out_, closed_;
  std::atomic<bool> open_ = true;
  mutable std::mutex mutex_;
  std::string reason_;
  std::string pending_;  // bytes that came; up to at_ they were taken
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<FrameStream> stdio_frames(int in, int out) {
  return std::make_unique<StdioFrames>(in, out);
}

}  // namespace longship::net
