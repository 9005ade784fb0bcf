// SPDX-License-Identifier: Apache-2.0
// Everything that can happen to the hub. What is random, or takes a look at the world, is in the event.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "message/hub_messages.h"
#include "request.h"
#include "rows.h"
#include "store/image.h"

namespace longship::hub {

struct Asked {           // by a person or a program
  std::uint64_t id = 0;  // of the request: its reply has the same
  Caller caller;
  Request request;
  std::shared_ptr<const Spec> spec;  // of Submit: the job, read
  std::string secret;                // of AddSite and AddToken: the new token
  std::vector<Note> history;         // of ShowJob: what is stored
};
struct LinkUp {
  LinkId link = 0;
  Caller caller;
};
struct LinkDown {
  LinkId link = 0;
};
struct Heard {  // from an agent
  LinkId link = 0;
  message::FromAgent message;
};
struct ImagesFound {  // in the image store: all of them
  std::vector<store::Image> images;
};
struct Condition {  // of a site, found by the hub itself: ssh ended
  std::string site, sentence;
};
struct TokensUsed {  // since the last time, by requests and by who stays connected
  std::vector<std::string> hashes;
};
struct Opened {};  // once, after the state was loaded
struct Tick {};    // about once a second
struct Assign {};  // waiting jobs may go to sites: after a batch of other events

using Event =
    std::variant<Asked, LinkUp, LinkDown, Heard, ImagesFound, Condition, TokensUsed, Opened, Tick, Assign>;

// What is to be done once the changes are durable.
struct Reply {
  std::uint64_t id = 0;
  Response response;
};
struct Send {
  LinkId link = 0;
  message::FromHub message;
};
struct Close {
  LinkId link = 0;
};
struct SiteAdded {  // or changed, or removed: who keeps ssh running looks again
  SiteId site = none;
};
using Action = std::variant<Reply, Send, Close, SiteAdded>;
using Actions = std::vector<Action>;

}  // namespace longship::hub
