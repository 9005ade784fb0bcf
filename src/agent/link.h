// SPDX-License-Identifier: Apache-2.0
// The one connection to the hub: opened again, with growing pauses, whenever it is lost.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "message/hub_messages.h"
#include "net/frame_stream.h"
#include "worker.h"

namespace longship::agent {

// The pause before the n-th try to connect: 1 s, doubled up to a minute, by chance up to half of it less so
// that agents do not come all at once after a hub's outage. `chance` is from 0 to 1.
[[nodiscard]] Duration pause_before(int tries, double chance);

class Link {
 public:
  using Connect = std::function<std::unique_ptr<net::FrameStream>()>;
  Link(Connect connect, Mailbox& mailbox, bool only_one);

  // Connects if it is time, and introduces itself when connected.
  void keep(Instant now, const std::function<message::Hello()>& hello);
  void welcomed();
  void goodbye(const std::string& reason);
  [[nodiscard]] bool up() const { return welcomed_; }  // the hub answered: facts may be sent
  // What the hub says; nothing: nothing now.
  [[nodiscard]] std::optional<message::FromHub> receive();
  void send(const message::FromAgent& message) { send(message::encode(message)); }
  void send(std::string_view frame);  // goes nowhere if the link is down
  void drop();                        // to begin anew
  void close();

  [[nodiscard]] bool over() const { return over_; }  // there will be no other connection
  [[nodiscard]] const std::string& sent_away() const { return sent_away_; }
  [[nodiscard]] std::uint64_t connection() const { return connection_; }  // which one this is
  [[nodiscard]] int fd() const { return stream_ ? stream_->fd() : -1; }

 private:
  void lose(const std::string& why);

  Connect connect_;
  Mailbox& mailbox_;
  bool only_one_;
  std::shared_ptr<net::FrameStream> stream_;
  std::shared_ptr<Link*> self_ = std::make_shared<Link*>(this);
  bool connecting_ = false, greeted_ = false, welcomed_ = false, over_ = false;
  std::uint64_t connection_ = 0;
  int tries_ = 0;
  std::optional<Instant> again_;
  std::string told_;  // the last reason that a person read
  std::string sent_away_;
  Worker worker_;
};

}  // namespace longship::agent
