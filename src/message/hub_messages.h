// SPDX-License-Identifier: Apache-2.0
// What hub and agent say to each other on their one stream, whatever carries it: a WebSocket that the agent
// opens, or the stdio of an agent started over ssh.
//
// Commands are levels, not edges: after a connection is made the hub says in Want what it wants the site to
// have, and the agent makes it so; Carry and Stop change that while connected. Nothing needs to be remembered
// by a sender, and every command may be repeated.
//
// Facts are durable: the agent writes each to its outbox (a record log) before it is sent, and sends from the
// first one the hub has not seen. The hub stores a fact's effects and its number in one transaction, so each
// counts once. An outbox has a name: a lost one starts anew under another.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assignment.h"
#include "pilot_messages.h"

namespace longship::message {

inline constexpr int protocol = 1;

// --- facts: numbered, durable ---

struct Refused {  // the site does not take it: [accept], or it does not fit after all
  AttemptId attempt;
  std::string reason;
  bool operator==(const Refused&) const = default;
};
struct Preparing {  // accepted; image, code and data are being brought
  AttemptId attempt;
  bool operator==(const Preparing&) const = default;
};
struct Queued {  // given to a pilot that waits in the batch system, or to one that runs
  AttemptId attempt;
  std::string pilot;
  std::string batch_job;  // the batch system's own id, if known
  bool operator==(const Queued&) const = default;
};
struct Started {
  AttemptId attempt;
  std::string pilot;
  int ranks = 1;
  std::vector<std::string> nodes;
  bool operator==(const Started&) const = default;
};
// Ended as in pilot_messages.h; from the agent itself with `lost` once the batch system is certain that the
// pilot is gone.
using Fact = std::variant<Refused, Preparing, Queued, Started, Ended>;

// --- from the agent ---

struct Hello {  // first
  int protocol = message::protocol;
  std::string version;              // of the program
  std::string site;                 // name
  std::string site_file;            // its text: the hub matches with what the agent enforces
  std::string outbox;               // name of the outbox
  std::vector<AttemptId> attempts;  // that the agent has and that have not ended
  bool operator==(const Hello&) const = default;
};
struct Facts {
  std::uint64_t first = 0;  // number of the first; they are consecutive
  std::vector<Fact> facts;
  bool operator==(const Facts&) const = default;
};
struct Alive {  // volatile: at least every 10 seconds
  struct Attempt {
    AttemptId attempt;
    Metrics metrics;
    bool operator==(const Attempt&) const = default;
  };
  std::vector<Attempt> heard;  // attempts whose pilots were heard of since the last Alive
  std::string condition;       // a sentence if something is wrong at the site: "slurmctld does not answer"
  struct Waiting {
    AttemptId attempt;
    std::string reason;               // the batch system's own words
    std::int64_t expected_start = 0;  // seconds since 1970; 0: not known
    bool operator==(const Waiting&) const = default;
  };
  std::vector<Waiting> waiting;
  bool operator==(const Alive&) const = default;
};
struct Fetch {  // asks for bytes the hub has
  std::uint64_t id = 0;
  std::string digest;
  std::uint64_t offset = 0, length = 0;
  bool operator==(const Fetch&) const = default;
};
struct Answer {  // to a Question
  std::uint64_t id = 0;
  std::string error;       // empty: it worked
  std::uint64_t size = 0;  // of the whole file, when a part was asked for
  std::string bytes;       // travels as the frame's payload, not in its JSON
  bool operator==(const Answer&) const = default;
};
using FromAgent = std::variant<Hello, Facts, Alive, Fetch, Answer>;

// --- from the hub ---

struct Welcome {           // the answer to Hello
  std::uint64_t seen = 0;  // facts of this outbox that are stored: send from here on
  bool operator==(const Welcome&) const = default;
};
struct Want {  // all attempts that this site is to have: others are to be stopped
  std::vector<Assignment> assignments;
  bool more = false;  // too many for one frame: the next Want goes on, and only the last one stops others
  bool operator==(const Want&) const = default;
};
struct Carry {
  std::vector<Assignment> assignments;
  bool operator==(const Carry&) const = default;
};
struct StopAttempts {
  std::vector<AttemptId> attempts;
  StopReason reason = StopReason::cancelled;
  bool operator==(const StopAttempts&) const = default;
};
struct Seen {  // facts up to here, exclusive, are stored
  std::uint64_t seen = 0;
  bool operator==(const Seen&) const = default;
};
struct Chunk {  // the answer to Fetch
  std::uint64_t id = 0;
  std::string error;
  std::string bytes;  // the frame's payload
  bool operator==(const Chunk&) const = default;
};
enum class About { file, metrics, report };
struct Question {  // about an attempt that is or was at this site
  std::uint64_t id = 0;
  AttemptId attempt;
  About about = About::file;
  std::string name;  // of a file beneath the attempt's directory: "output/rank-00000.out", "model.pt"
  std::uint64_t offset = 0, length = 0;  // of a file; metrics: length is how many points at most
  bool operator==(const Question&) const = default;
};
struct Discard {  // attempts whose directories nobody will ask for again
  std::vector<AttemptId> attempts;
  bool operator==(const Discard&) const = default;
};
struct Goodbye {  // the hub does not talk to this agent: why
  std::string reason;
  bool operator==(const Goodbye&) const = default;
};
using FromHub = std::variant<Welcome, Want, Carry, StopAttempts, Seen, Chunk, Question, Discard, Goodbye>;

// A frame: u32 length of the JSON (little-endian), the JSON, the payload. A WebSocket message holds one
// frame; on stdio a u32 with the frame's length comes before it. encode() refuses what would be larger.
inline constexpr std::size_t largest_frame = std::size_t{8} << 20;
[[nodiscard]] std::string encode(const FromAgent& message);
[[nodiscard]] std::string encode(const FromHub& message);
[[nodiscard]] FromAgent decode_from_agent(std::string_view frame);
[[nodiscard]] FromHub decode_from_hub(std::string_view frame);
// A fact alone, as it stands in the outbox.
[[nodiscard]] std::string encode(const Fact& fact);
// Facts as encode() made them, sent on without reading them again: an agent sends what it has on disk.
struct WrittenFacts {
  std::uint64_t first = 0;
  std::vector<std::string> facts;
};
[[nodiscard]] std::string encode(const WrittenFacts& facts);
[[nodiscard]] Fact decode_fact(std::string_view payload);
[[nodiscard]] const AttemptId& attempt_of(const Fact& fact);

// Frames in a stream of bytes.
class FrameSplitter {
 public:
  void add(std::string_view bytes);
  // The next whole frame, if there is one. An Error if its length makes no sense: the stream is of no use
  // then.
  [[nodiscard]] bool next(std::string& frame);

 private:
  std::string pending_;
  std::size_t at_ = 0;
};
[[nodiscard]] std::string with_length(std::string_view frame);

}  // namespace longship::message
