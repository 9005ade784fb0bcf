// SPDX-License-Identifier: Apache-2.0
// The agent's decisions, without the world: step(now, inputs) → actions.
//
// An attempt:   accepted ──(its bytes are here)──▶ ready ──(Take written to a pilot's log)──▶ given ──▶ ended
// A pilot:      made ──(handed in)──▶ waiting ──(Began)──▶ running ──(Left, or the batch system is sure)──▶
// gone
//
// Rules that everything else serves:
// - Whatever is decided is written before it is done, and in one place: acceptance and pilots in the journal,
//   what a pilot was told in its to_pilot, how an attempt ended in the outbox. An engine that was given these
//   back by replay() goes on as if nothing had happened. If an action fails to be written the engine is
//   thrown away and made anew in the same way: there is one way to recover, and it is taken every time.
// - A name is in the journal before it is handed in. Whether a pilot in doubt exists, the batch system is
// asked;
//   one that it does not know after a while is abandoned, never handed in again: its log says Stop and Leave
//   before its attempts go elsewhere, so that it does nothing should it come up after all.
// - An attempt given to a pilot is given to no other one unless that pilot left, or the batch system says
// that
//   it ended and its log, read again after a grace for slow file systems, has no Running for the attempt.
// - What the batch system does not know proves nothing.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "batch/batch.h"
#include "journal.h"
#include "message/hub_messages.h"
#include "shape.h"

namespace longship::agent {

// --- inputs ---

struct NewLink {};  // to the hub: half a Want of the old one does not count
struct PilotSaid {
  std::string pilot;
  message::FromPilot message;
};
struct BatchSaid {  // about every pilot that pilots() named when it was asked
  batch::Reports reports;
  std::map<std::string, std::string> last_words;  // of ended pilots: the end of batch.out, on one line
};
struct BatchSilent {  // it could not be asked
  std::string error;
};
struct SubmitDone {
  std::string pilot, batch_job;
};
struct SubmitFailed {  // it may exist all the same
  std::string pilot, error;
};
struct BlobHere {
  std::string digest;
};
struct BlobMissing {  // and will not come
  std::string digest, error;
};
using Input =
    std::variant<message::Want, message::Carry, message::StopAttempts, message::Seen, message::Discard,
                 NewLink, PilotSaid, BatchSaid, BatchSilent, SubmitDone, SubmitFailed, BlobHere, BlobMissing>;

// --- actions, to be done in this order ---

struct WantedBlob {
  enum class Kind { code, image } kind = Kind::code;
  std::string digest;
  std::uint64_t size = 0;
  std::string image;  // the record, of an image
};
struct Tell {
  std::string pilot;
  std::vector<message::ToPilot> messages;
};
struct Actions {
  std::vector<Entry> journal;  // first, and durable before the rest
  std::vector<Made> make;      // directories and orders of new pilots
  std::vector<Tell> tell;      // in this order, each durable before the next
  std::vector<message::Fact> facts;
  std::vector<Made> submit;
  std::vector<std::string> cancel;          // batch jobs
  std::vector<WantedBlob> fetch;            // repeated requests for one digest are not
  std::vector<message::AttemptId> discard;  // directories
  std::vector<std::string> remove;          // pilots' directories
  std::vector<std::string> warnings;        // for the agent's log
};

// --- parameters ---

struct QueueLimits {
  int max_queued = 4;                    // pilots that wait
  std::chrono::seconds max_walltime{0};  // 0: none
};

struct Rules {
  std::map<std::string, QueueLimits> queues;
  Duration gone_grace = std::chrono::seconds(30);  // for the last records of a pilot that ended
  Duration doubt = std::chrono::seconds(20);       // a submission may become visible so late
  Duration forget = std::chrono::minutes(10);      // unknown to the batch system and silent for so long
  Duration linger = std::chrono::seconds(10);      // an idle pilot is kept
  Duration ahead = std::chrono::seconds(4);        // work that lies ready in a pilot's log
  std::size_t most_ahead = 2048;                   // attempts, likewise
  Duration first_retry = std::chrono::seconds(5);  // after a submission failed; doubled each time
  Duration last_retry = std::chrono::minutes(5);
  int most_returns = 4;             // of an attempt by pilots that did not begin it; then it is lost
  std::size_t remembered = 10'000;  // ended attempts that the hub knows have ended: against late commands
};

struct EngineOptions {
  Rules rules;
  // Why this site does not take it, as a sentence, or nothing; an Error is such a sentence too.
  std::function<std::optional<std::string>(const message::Assignment&, const job::Job&)> refusal;
  std::function<bool(const WantedBlob&)> has;  // are the bytes here?
  std::function<std::string()> new_pilot;      // a fresh name
};

class Engine {
 public:
  explicit Engine(EngineOptions options);

  // What was written before, in this order: the journal, the outbox, then each of pilots()' to_pilot.
  void replay(const Entry& entry);
  void replay(std::uint64_t number, const message::Fact& fact);
  void replay(const std::string& pilot, const message::ToPilot& told);

  // The outbox was lost: what no pilot has may have ended long ago, and counts only if the hub wants it
  // again.
  void outbox_is_new() { outbox_is_new_ = true; }

  // Inputs may be repeated, late, or make no sense. With none, it is time that passes.
  [[nodiscard]] Actions step(Instant now, std::span<const Input> inputs = {});

  [[nodiscard]] std::vector<std::string> pilots() const;           // that are not gone
  [[nodiscard]] std::vector<message::AttemptId> attempts() const;  // that have not ended
  [[nodiscard]] bool has(const message::AttemptId& attempt) const { return attempts_.contains(attempt); }
  [[nodiscard]] message::Alive alive();  // what was heard since the last call
  [[nodiscard]] bool has_news() const { return !heard_.empty(); }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // inputs that made no sense

 private:
  enum class Told { nothing, preparing, queued, started };
  struct Attempt {
    Attempt() = default;
    Attempt(const message::Assignment& given, const job::Job& job)
        : assignment(given), shape(shape_of(given.queue, job)), walltime(job.needs.walltime) {}
    message::Assignment assignment;
    Shape shape;
    std::chrono::seconds walltime{0};
    std::set<std::string> missing;  // digests
    std::string pilot;              // empty: not given
    std::uint64_t ready = 0;        // its place in Ready; 0: it is not there
    int returned = 0;               // by pilots that did not begin it
    bool running = false;
    std::optional<message::StopReason> stop;
    Told told = Told::nothing;
  };
  struct Pilot {
    Shape shape;
    std::chrono::seconds walltime{0};
    enum class Stage { handing_in, doubtful, submitted } stage = Stage::doubtful;
    batch::Report report;
    std::string last_words;
    std::string batch_job;
    std::set<message::AttemptId> holds;  // given, and not ended
    std::set<message::AttemptId> void_;  // Returned: its Takes no longer count
    bool began = false, leaving = false, abandoned = false, cancelled = false;
    bool replayed = false;            // made by an agent before this one
    std::optional<std::string> left;  // why
    // Since when it is in doubt, ended, unknown, idle; when it and the batch system last spoke.
    std::optional<Instant> doubted, ended, unknown, idle, heard, asked;
    std::optional<Instant> until;  // its walltime is over
    std::uint64_t settled = 0;     // the step in which its last attempt was
    int strays = 0;                // words about what it does not have
  };
  using Class = std::pair<Shape, std::chrono::seconds>;       // and the walltime asked for
  using Ready = std::map<std::uint64_t, message::AttemptId>;  // in the order of their coming

  // inputs: engine.cpp
  void take(const message::Want& want);
  void take(const message::Carry& carry);
  void take(const message::StopAttempts& stop);
  void take(const message::Seen& seen);
  void take(const message::Discard& discard);
  void take(const NewLink& link);
  void take(const PilotSaid& said);
  void take(const BatchSaid& said);
  void take(const BatchSilent& silent);
  void take(const SubmitDone& done);
  void take(const SubmitFailed& failed);
  void take(const BlobHere& here);
  void take(const BlobMissing& missing);
  void accept(const message::Assignment& assignment);
  void prepare(const message::AttemptId& id, Attempt& attempt);
  void stop(const message::AttemptId& id, message::StopReason reason);
  // what pilots say
  void hear(Pilot& pilot, const std::string& name, const message::Began& began);
  void hear(Pilot& pilot, const std::string& name, const message::Running& running);
  void hear(Pilot& pilot, const std::string& name, const message::Beat& beat);
  void hear(Pilot& pilot, const std::string& name, const message::Ended& ended);
  void hear(Pilot& pilot, const std::string& name, const message::Left& left);
  // A word about what it does not have.
  void stray(Pilot& pilot, const std::string& name, const message::AttemptId& id);
  Attempt* held(const Pilot& pilot, const message::AttemptId& id);

  // pilots: engine_pilots.cpp
  void judge(const std::string& name, Pilot& pilot);
  void settle_holds(const std::string& name, Pilot& pilot, const std::string& why);
  void give_back(const message::AttemptId& id, Attempt& attempt, const std::string& name, Pilot& pilot,
                 const std::string& why);
  void judge_doubt(const std::string& name, Pilot& pilot);
  void judge_unknown(const std::string& name, Pilot& pilot);
  void judge_idle(const std::string& name, Pilot& pilot);  // after work was given
  void judge_end(const std::string& name, Pilot& pilot);
  void abandon(const std::string& name, Pilot& pilot);
  void cancel(const std::string& name, Pilot& pilot);
  [[nodiscard]] bool over(const Pilot& pilot) const;  // it will never do anything any more

  // giving: engine_giving.cpp
  void give();
  void give_to_pilots(const Class& kind, Ready& ready);
  void make_pilots(const Class& kind, Ready& ready);
  void hand(const message::AttemptId& id, const std::string& name, Pilot& pilot);
  [[nodiscard]] std::size_t room(const Pilot& pilot, const Class& kind, const std::string& job) const;
  [[nodiscard]] bool takes_work(const Pilot& pilot) const;
  [[nodiscard]] bool waits(const Pilot& pilot) const;  // in the batch system, as far as is known
  [[nodiscard]] bool others_wait(const std::string& queue) const;
  [[nodiscard]] bool enough(const Class& kind, const Ready& ready) const;
  [[nodiscard]] std::chrono::seconds walltime_for(const Class& kind, std::size_t ready) const;

  void tell(const std::string& pilot, message::ToPilot message);
  void say(message::Fact fact);
  void say_queued(const message::AttemptId& id, Attempt& attempt);
  void is_known(const std::string& name, Pilot& pilot, const std::string& batch_job);  // no longer in doubt
  void trouble(const std::string& queue, const std::string& words);
  void end(const message::AttemptId& id, message::Ended ended);  // the fact, and out of the tables
  void end(const message::AttemptId& id, message::Outcome outcome, std::string reason);
  void close(const message::AttemptId& id);
  void make_ready(const message::AttemptId& id, Attempt& attempt);
  void begin();  // after replay

  EngineOptions options_;
  Instant now_{};
  std::uint64_t step_ = 1;
  bool outbox_is_new_ = false;
  bool begun_ = false;  // the first step has been made: replay is over
  Actions actions_;
  std::map<message::AttemptId, Attempt> attempts_;
  std::map<std::string, Pilot> pilots_;
  std::map<Class, Ready> ready_;
  std::uint64_t next_ready_ = 1;
  std::map<std::string, std::set<message::AttemptId>> waiting_for_;  // by digest
  std::set<message::AttemptId> wanted_;                              // by a Want that goes on
  std::vector<message::AttemptId> fresh_;                            // accepted in this step
  std::map<message::AttemptId, std::uint64_t> closed_;  // ended, and the number of the fact that says so
  std::deque<message::AttemptId> closed_order_;
  std::uint64_t next_fact_ = 0;
  std::map<message::AttemptId, message::Metrics> heard_;
  std::map<std::string, Duration> took_;  // by the job's name: how long its attempts take
  struct Trouble {
    std::string words;
    Duration pause{};
    Instant until{};
  };
  std::map<std::string, Trouble> trouble_;  // by queue: submissions that failed
  std::string batch_error_;
  std::uint64_t ignored_ = 0;
};

}  // namespace longship::agent
