// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/say.h"

namespace longship::agent {

Duration pause_before(int tries, double chance) {
  if (tries <= 0) return {};
  const double whole = std::min(60.0, std::exp2(std::min(tries, 10) - 1));
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(whole * (1 - chance / 2)));
}

Link::Link(Connect connect, Mailbox& mailbox, bool only_one)
    : connect_(std::move(connect)), mailbox_(mailbox), only_one_(only_one) {}

void Link::keep(Instant now, const std::function<message::Hello()>& hello) {
  if (stream_ && !stream_->open()) lose(stream_->ended_because());
  if (over_ || connecting_) return;
  if (stream_) {
    if (!greeted_) {
      greeted_ = true;
      send(hello());
    }
    return;
  }
  if (!again_) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    again_ = now + pause_before(tries_, std::uniform_real_distribution<>()(random));
  }
  if (now < *again_) return;
  again_.reset();
  ++tries_;
  connecting_ = true;
  // A hub that does not answer takes its time; the pilots' logs are read meanwhile.
  worker_.post([this, self = std::weak_ptr(self_)] {
    std::shared_ptr<net::FrameStream> stream;
    std::string error;
    try {
      stream = connect_();
    } catch (const std::exception& problem) {
      error = problem.what();
    }
    mailbox_.post([this, self, stream, error] {
      if (self.expired()) return;
      connecting_ = false;
      if (!stream) return lose(error);
      ++connection_;
      stream_ = stream;
    });
  });
}

void Link::welcomed() {
  if (!std::exchange(welcomed_, true) && !told_.empty()) note("the hub is there again");
  told_.clear();
  tries_ = 0;
}

void Link::goodbye(const std::string& reason) {
  sent_away_ = only_one_ ? reason : "";
  tries_ = 10;  // it will hardly think otherwise soon
  lose("the hub does not talk to this agent: " + reason);
}

std::optional<message::FromHub> Link::receive() {
  if (!stream_) return {};
  try {
    if (const auto frame = stream_->receive(std::chrono::milliseconds(0)))
      return message::decode_from_hub(*frame);
  } catch (const Error& error) {
    lose(error.what());
    return {};
  }
  if (!stream_->open()) lose(stream_->ended_because());
  return {};
}

void Link::send(std::string_view frame) {
  if (!stream_) return;
  try {
    stream_->send(frame);
  } catch (const Error& error) {
    lose(error.what());
  }
}

void Link::lose(const std::string& why) {
  if (stream_) stream_->close();
  stream_.reset();
  greeted_ = welcomed_ = false;
  if (only_one_) over_ = true;
  if (why != told_ && !why.empty()) warn("no connection to the hub: {}", why);
  told_ = why;
}

void Link::drop() {
  if (stream_) stream_->close();
  stream_.reset();
  greeted_ = welcomed_ = false;
  if (only_one_) over_ = true;
}

void Link::close() {
  if (stream_) stream_->close();
  stream_.reset();
  over_ = true;
}

}  // namespace longship::agent
