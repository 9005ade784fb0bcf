// SPDX-License-Identifier: Apache-2.0
#include "poll.h"

#include <algorithm>

namespace longship::launch {

void Poll::add(int fd, short events, std::function<void()> then) {
  if (fd < 0) return;
  polled_.push_back({fd, events, 0});
  then_.push_back(std::move(then));
}

void Poll::wait(std::chrono::milliseconds patience) {
  if (::poll(polled_.data(), polled_.size(), static_cast<int>(patience.count())) <= 0) return;
  for (std::size_t i = 0; i < polled_.size(); ++i)
    if (polled_[i].revents != 0) then_[i]();
}

void add_outlets(Poll& poll, Sink& sink) {
  for (auto* outlet : sink.outlets())
    if (outlet->waiting()) poll.add(outlet->fd(), POLLOUT, [outlet] { outlet->write_some(); });
}

bool is_full(Sink& sink) {
  const auto outlets = sink.outlets();
  return std::any_of(outlets.begin(), outlets.end(), [](const Outlet* outlet) { return outlet->full(); });
}

void flush(Sink& sink, Interruptions& interruptions) {
  for (auto* outlet : sink.outlets()) {
    while (outlet->waiting()) {
      pollfd polled[2] = {{outlet->fd(), POLLOUT, 0}, {interruptions.fd(), POLLIN, 0}};
      ::poll(polled, 2, -1);
      if (polled[0].revents != 0)
        outlet->write_some();
      else if (polled[1].revents != 0)
        return;
    }
  }
}

}  // namespace longship::launch
