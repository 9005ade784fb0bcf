// SPDX-License-Identifier: Apache-2.0
#include "desk.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "acceptance.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/say.h"
#include "site/match.h"

namespace longship::agent {

using std::chrono::milliseconds;
using std::chrono::seconds;

Pace pace_of(const site::Site& site) {
  if (site.batch == site::Batch::local) return {milliseconds(50), milliseconds(200)};
  return {};
}

Rules rules_of(const site::Site& site) {
  Rules rules;
  for (const auto& queue : site.queues) rules.queues[queue.name] = {queue.max_queued, queue.max_walltime};
  if (site.batch == site::Batch::local) {  // no slow file system, no far-away daemon
    rules.gone_grace = seconds(3);
    rules.doubt = seconds(2);
    rules.linger = seconds(1);
    rules.ahead = seconds(1);
    rules.first_retry = seconds(1);
  }
  return rules;
}

std::string random_hex(std::size_t digits) {
  std::string bytes((digits + 1) / 2, '\0');
  for (std::size_t have = 0; have < bytes.size();) {
    const auto got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno != EINTR) throw Error::from_errno(errno, "cannot get random bytes");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  text.resize(digits);
  return text;
}

message::PilotOrder order_of(const site::Site& site, const Made& made) {
  message::PilotOrder order;
  order.pilot = made.pilot;
  order.site = site.name;
  order.nodes = made.shape.nodes;
  order.walltime = made.walltime;
  order.look_every = pace_of(site).logs;
  if (made.walltime.count() > 0)
    order.checkpoint_before = std::min(order.checkpoint_before, made.walltime / 3);
  order.image_store = site.store;
  order.engine = site.engine;
  return order;
}

batch::Pilot request_of(const site::Site& site, const Made& made, const std::filesystem::path& program,
                        const std::filesystem::path& directory) {
  const auto* queue = site::find_queue(site, made.shape.queue);
  if (queue == nullptr) throw Error("site {} has no queue \"{}\" any more", site.name, made.shape.queue);
  auto pilot = batch::pilot_for(*queue);
  const auto share = site::share_of(needs_of(made.shape));
  pilot.name = made.pilot;
  pilot.nodes = made.shape.nodes;
  pilot.walltime = made.walltime;
  pilot.cores = share.cores;
  pilot.gpus = share.gpus;
  pilot.memory = share.memory;
  if (!made.shape.account.empty()) pilot.account = made.shape.account;
  pilot.command = {program.native(), "pilot", directory.native()};
  if (const auto& mpi = site.host.mpi; mpi && mpi->let_in)
    pilot.environment["LONGSHIP_MPI"] = mpi->library.empty() ? "host" : mpi->library;
  pilot.output = directory / "batch.out";
  pilot.directory = directory;
  return pilot;
}

Desk::Desk(const site::Site& site, const message::Spool& spool, std::function<bool(const WantedBlob&)> has)
    : outbox(spool, [] { return random_hex(16); }),
      logs(spool),
      engine({rules_of(site),
              [site](const message::Assignment& assignment, const job::Job& job) {
                return refusal(site, assignment, job);
              },
              std::move(has), [] { return "p" + random_hex(12); }}),
      site_(site),
      spool_(spool),
      journal_(spool.journal()) {
  replay();
}

void Desk::replay() {
  RecordLogReader journal(spool_.journal());
  while (const auto record = journal.next())
    for (const auto& entry : decode_entries(record->payload)) engine.replay(entry);
  if (outbox.is_new()) engine.outbox_is_new();
  outbox.replay([&](std::uint64_t number, const message::Fact& fact) { engine.replay(number, fact); });
  for (const auto& pilot : engine.pilots())
    logs.replay(pilot, [&](const message::ToPilot& told) { engine.replay(pilot, told); });
}

void Desk::write(const Actions& actions) {
  for (const auto& payload : encode(actions.journal)) journal_.append(payload);
  if (!actions.journal.empty()) {
    journal_.sync();
    failpoint("agent.journalled");
  }
  for (const auto& made : actions.make) {
    logs.make(order_of(site_, made));
    failpoint("agent.ordered");
  }
  for (const auto& told : actions.tell) {
    logs.tell(told.pilot, told.messages);
    failpoint("agent.told");
  }
  if (actions.facts.empty()) return;
  outbox.append(actions.facts);
  failpoint("agent.reported");
}

}  // namespace longship::agent
