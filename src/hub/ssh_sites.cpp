// SPDX-License-Identifier: Apache-2.0
#include "ssh_sites.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "directory.h"
#include "message/hub_messages.h"

namespace longship::hub {

std::string quoted_for_shell(std::string_view word) {
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'')
      quoted += "'\\''";
    else
      quoted += character;
  }
  return quoted + "'";
}

std::vector<std::string> ssh_arguments(const SshSite& site) {
  std::vector<std::string> arguments = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15"};
  if (site.port != 0) arguments.insert(arguments.end(), {"-p", std::to_string(site.port)});
  const auto program = site.longship.empty() ? std::string("longship") : site.longship;
  arguments.insert(arguments.end(), {"--", site.ssh, quoted_for_shell(program), "agent", "--stdio", "--site",
                                     quoted_for_shell(site.name)});
  if (!site.site_file.empty())
    arguments.insert(arguments.end(), {"--site-file", quoted_for_shell(site.site_file)});
  return arguments;
}

namespace {

// Something that wakes a poll(), from any thread.
class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw Error::from_errno(errno, "cannot make an eventfd");
  }
  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
  }
  void silence() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

// What the hub sends waits here until ssh takes it.
class StdioLink final : public AgentLink {
 public:
  explicit StdioLink(std::shared_ptr<Bell> bell) : bell_(std::move(bell)) {}
  void send(std::string frame) override {
    {
      const std::lock_guard lock(mutex_);
      pending_ += message::with_length(frame);
    }
    bell_->ring();
  }
  void close() override {
    closed_ = true;
    bell_->ring();
  }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] bool has_pending() {
    const std::lock_guard lock(mutex_);
    return !pending_.empty();
  }
  // Writes what the pipe takes; false: nobody reads it any more.
  bool flush(int fd) {
    const std::lock_guard lock(mutex_);
    const auto written = ::send(fd, pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    pending_.erase(0, static_cast<std::size_t>(written));
    return true;
  }

 private:
  std::shared_ptr<Bell> bell_;
  std::mutex mutex_;
  std::string pending_;
  std::atomic<bool> closed_{false};
};

// The last lines of what somebody said.
class LastLines {
 public:
  void add(std::string_view bytes) {
    text_ += bytes;
    if (text_.size() > 4096) text_.erase(0, text_.size() - 4096);
  }
  [[nodiscard]] std::string text() const {
    std::deque<std::string> lines;
    for (const auto& line : split(text_, '\n')) {
      if (!trim(line).empty()) lines.emplace_back(printable(trim(line)));
      if (lines.size() > 3) lines.pop_front();
    }
    return join(std::vector<std::string>(lines.begin(), lines.end()), "; ");
  }

 private:
  std::string text_;
};

// For its input: writing to a socket that nobody reads any more is an error, to such a pipe it is a signal.
Pipe make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error::from_errno(errno, "cannot make a pair of sockets");
  return {Fd(ends[0]), Fd(ends[1])};
}

void make_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

class SshSites::Keeper {
 public:
  Keeper(Hub& hub, const Report& report, SshSite wanted)
      : site(std::move(wanted)), hub_(hub), report_(report), thread_([this] { keep(); }) {}
  ~Keeper() {
    stopping_ = true;
    bell_->ring();
    thread_.join();
  }
  const SshSite site;

 private:
  void keep() {
    auto pause = std::chrono::seconds(1);
    while (!stopping_) {
      const auto begin = std::chrono::steady_clock::now();
      try {
        const auto why = talk();
        if (!stopping_) report_(site.name, why);
      } catch (const std::exception& error) {  // one that left this thread would end the hub
        report_(site.name, Error::of(error).what());
      }
      if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(1)) pause = std::chrono::seconds(1);
      rest(pause);
      pause = std::min(pause * 2, std::chrono::seconds(60));
    }
  }

  void rest(std::chrono::seconds pause) const {
    const auto until = std::chrono::steady_clock::now() + pause;
    while (!stopping_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      pollfd bell{bell_->fd(), POLLIN, 0};
      ::poll(&bell, 1, static_cast<int>(left.count()));
      bell_->silence();
    }
  }

  // From the start of ssh to its end; why it ended.
  std::string talk() {
    auto in = make_socket_pair(), out = make_pipe(), errors = make_pipe();
    Command command;
    command.arguments = ssh_arguments(site);
    command.input = in.read.get();
    command.output = out.write.get();
    command.errors = errors.write.get();
    command.die_with_parent = true;
    Process process(command);
    in.read.reset();
    out.write.reset();
    errors.write.reset();
    for (const int fd : {in.write.get(), out.read.get(), errors.read.get()}) make_nonblocking(fd);

    const auto link = std::make_shared<StdioLink>(bell_);
    const auto id = hub_.connect({user_name(), "", site.name}, link);
    LastLines said;
    std::string trouble;
    try {
      carry(*link, id, in.write.get(), out.read.get(), errors.read.get(), said);
    } catch (const Error& error) {
      trouble = error.what();
    }
    hub_.disconnect(id);
    in.write.reset();
    const auto ending = process.wait(std::chrono::seconds(2));
    if (!trouble.empty()) return trouble;
    auto text = said.text();
    if (text.empty()) text = ending ? "ssh " + ending->sentence() : "ssh did not end";
    return fmt::format("the agent over ssh ended: {}", text);
  }

  void carry(StdioLink& link, Hub::LinkId id, int in, int out, int errors, LastLines& said) {
    message::FrameSplitter frames;
    std::string frame;
    std::array<char, 65536> buffer{};
    while (!stopping_ && !link.closed()) {
      std::array<pollfd, 4> polled = {pollfd{bell_->fd(), POLLIN, 0}, pollfd{out, POLLIN, 0},
                                      pollfd{errors, POLLIN, 0},
                                      pollfd{link.has_pending() ? in : -1, POLLOUT, 0}};
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR)
        throw Error::from_errno(errno, "poll");
      if (polled[0].revents != 0) bell_->silence();
      if (polled[2].revents != 0) {
        const auto got = ::read(errors, buffer.data(), buffer.size());
        if (got > 0) said.add({buffer.data(), static_cast<std::size_t>(got)});
        if (got == 0) errors = -1;
      }
      if (polled[3].revents != 0 && !link.flush(in)) return drain(errors, said);
      if (polled[1].revents == 0) continue;
      const auto got = ::read(out, buffer.data(), buffer.size());
      if (got == 0) return drain(errors, said);
      if (got < 0) continue;
      frames.add({buffer.data(), static_cast<std::size_t>(got)});
      while (frames.next(frame)) hub_.receive(id, frame);
    }
    // What the hub said last is why it closed the link: it still goes out.
    pollfd polled{in, POLLOUT, 0};
    while (link.has_pending() && ::poll(&polled, 1, 1000) > 0 && link.flush(in)) {
    }
  }

  // What it had to say about its end may come a little later than the end.
  static void drain(int errors, LastLines& said) {
    std::array<char, 4096> buffer{};
    pollfd polled{errors, POLLIN, 0};
    while (errors >= 0 && ::poll(&polled, 1, 1000) > 0) {
      const auto got = ::read(errors, buffer.data(), buffer.size());
      if (got <= 0) return;
      said.add({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

  Hub& hub_;
  const Report& report_;
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

SshSites::SshSites(Hub& hub, Report report) : hub_(hub), report_(std::move(report)) {}

SshSites::~SshSites() {
  stop();
}

void SshSites::set(const SshSite& site) {
  const std::lock_guard lock(mutex_);
  const auto found = keepers_.find(site.name);
  if (found != keepers_.end() && found->second->site == site) return;
  if (found != keepers_.end()) keepers_.erase(found);
  if (!site.ssh.empty()) keepers_[site.name] = std::make_unique<Keeper>(hub_, report_, site);
}

void SshSites::stop() {
  const std::lock_guard lock(mutex_);
  keepers_.clear();
}

}  // namespace longship::hub
