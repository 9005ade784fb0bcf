// SPDX-License-Identifier: Apache-2.0
#include "program_source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::size_t kept_lines = 40;

std::size_t read_some(int fd, char* into, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, into, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error::from_errno(errno, "cannot read");
  }
}

// apt, dpkg and mmdebstrap mark errors with "E:"; if there are none, the end will have to do.
std::string reason_in(const std::vector<std::string>& lines) {
  std::vector<std::string> errors;
  for (const auto& line : lines)
    if (line.starts_with("E: ")) errors.push_back(line.substr(3));
  if (errors.empty())
    errors.assign(lines.end() - std::min<std::ptrdiff_t>(3, std::ssize(lines)), lines.end());
  return join(errors, "; ");
}

}  // namespace

ProgramSource::ProgramSource(std::string name, Command command) : name_(std::move(name)) {
  Pipe output = make_pipe(), errors = make_pipe();
  command.output = output.write.get();
  command.errors = errors.write.get();
  command.own_group = false;  // a Ctrl-C reaches it too, so that it cleans up
  command.die_with_parent = true;
  process_ = std::make_unique<Process>(command);
  output_ = std::move(output.read);
  listener_ = std::thread([this, fd = std::move(errors.read)]() mutable { listen(std::move(fd)); });
}

ProgramSource::~ProgramSource() {
  if (process_ != nullptr) {
    ::kill(process_->pid(), SIGTERM);
    output_.reset();
    if (!process_->wait(std::chrono::seconds(30))) process_.reset();
  }
  if (listener_.joinable()) listener_.join();
}

void ProgramSource::listen(Fd errors) {
  std::string line;
  std::array<char, 4096> piece;
  while (const std::size_t got = read_some(errors.get(), piece.data(), piece.size())) {
    for (const char c : std::string_view(piece.data(), got)) {
      if (c != '\n' && c != '\r') {
        if (line.size() < 500) line += c;
        continue;
      }
      if (line.empty()) continue;
      explain("{}: {}", name_, printable(line));
      if (last_words_.size() == kept_lines) last_words_.erase(last_words_.begin());
      last_words_.push_back(printable(line));
      line.clear();
    }
  }
}

std::size_t ProgramSource::read(char* into, std::size_t size) {
  if (process_ == nullptr) return 0;
  const std::size_t got = read_some(output_.get(), into, size);
  if (got == 0) require_success();
  return got;
}

void ProgramSource::require_success() {
  const auto ending = process_->wait();
  process_.reset();
  listener_.join();
  if (!ending->ok()) throw Error("{} {}: {}", name_, ending->sentence(), reason_in(last_words_));
}

}  // namespace longship::image
