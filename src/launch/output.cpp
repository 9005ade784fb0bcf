// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace longship::launch {
namespace {

constexpr std::array<std::string_view, 6> colours = {"\x1b[36m", "\x1b[33m", "\x1b[35m",
                                                     "\x1b[32m", "\x1b[34m", "\x1b[31m"};

// A full disk, mostly. Whoever reads a pipe and closes it, as head does, has seen enough.
void tell_of_lost_output(int number) {
  if (number != EPIPE)
    warn("{}", Error::from_errno(number, "what the ranks write to stdout is lost from here on").what());
}

}  // namespace

void Outlet::add(std::string_view bytes) {
  if (!closed_) pending_.append(bytes);
}

void Outlet::write_some() {
  if (before_) before_();
  const auto left = std::string_view(pending_).substr(written_);
  const auto written = ::write(fd_, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
  if (written >= 0) {
    written_ += static_cast<std::size_t>(written);
  } else if (errno != EAGAIN && errno != EINTR) {
    closed_ = true;
    written_ = pending_.size();
    if (lost_) lost_(errno);
  }
  if (waiting()) return;
  pending_.clear();
  written_ = 0;
  if (after_) after_();
}

Screen::Screen(const Options& options)
    : options_(options),
      out_(1, options.before, options.after, tell_of_lost_output),
      err_(2, options.before, options.after) {}

void Screen::name_node(int first_rank, int ranks, const std::string& node) {
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) nodes_[rank] = node;
}

void Screen::take(int rank, Stream stream, std::string_view bytes) {
  if (!options_.prefix) {
    show(rank, stream, bytes);
    return;
  }
  splitters_[{rank, stream}].feed(bytes, [&](std::string_view line) { show(rank, stream, line); });
}

void Screen::finish() {
  for (auto& [source, splitter] : splitters_)
    splitter.finish([&](std::string_view line) { show(source.first, source.second, line); });
}

void Screen::show(int rank, Stream stream, std::string_view line) {
  auto& outlet = stream == Stream::out && !options_.all_to_stderr ? out_ : err_;
  if (!options_.prefix) return outlet.add(line);
  outlet.add(label(rank));
  outlet.add(after_returns(line));
  outlet.add("\n");
}

std::string Screen::label(int rank) const {
  const auto node = nodes_.find(rank);
  const auto text =
      node == nodes_.end() ? fmt::format("[{}] ", rank) : fmt::format("[{} {}] ", node->second, rank);
  if (!options_.colour) return text;
  return fmt::format("{}{}\x1b[0m", colours[static_cast<std::size_t>(rank) % colours.size()], text);
}

RankFiles::RankFiles(const std::filesystem::path& directory, int first_rank, int ranks) {
  if (directory.empty()) return;
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    const auto open = [&](std::string_view ending) {
      return File{
          open_file(directory / fmt::format("rank-{:05}.{}", rank, ending), O_WRONLY | O_CREAT | O_TRUNC)};
    };
    files_.push_back({open("out"), open("err")});
  }
}

void RankFiles::write(int local_rank, Stream stream, std::string_view bytes) {
  if (files_.empty()) return;
  auto& file = files_[static_cast<std::size_t>(local_rank)][stream == Stream::out ? 0 : 1];
  try {
    if (file.gap) write_all(file.fd.get(), gap_line);
    file.gap = false;
    write_all(file.fd.get(), bytes);
  } catch (const Error& error) {
    file.gap = true;
    if (!std::exchange(warned_, true))
      warn("not all of the ranks' output is kept in files: {}", error.what());
  }
}

}  // namespace longship::launch
