// SPDX-License-Identifier: Apache-2.0
#include "hub.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/say.h"
#include "blobs.h"
#include "callers.h"
#include "directory.h"
#include "errands.h"
#include "links.h"
#include "listeners.h"
#include "next.h"
#include "prepare.h"
#include "requests.h"
#include "secrets.h"
#include "ssh_sites.h"
#include "store.h"
#include "studies.h"
#include "study_journals.h"

namespace longship::hub {
namespace {

constexpr std::chrono::seconds tick_every{1};
constexpr std::chrono::minutes complain_every{1};

Moment now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

bool only_reads(const Request& request) {
  return std::holds_alternative<ListJobs>(request) || std::holds_alternative<ShowJob>(request) ||
         std::holds_alternative<Why>(request) || std::holds_alternative<ListSites>(request) ||
         std::holds_alternative<ShowSite>(request) || std::holds_alternative<ListImages>(request) ||
         std::holds_alternative<ListTokens>(request);
}

SshSite ssh_site(const SiteRecord& record) {
  return {record.name, record.ssh, record.port, record.longship, record.site_file};
}

}  // namespace

struct Hub::Parts {
  explicit Parts(const Options& options, Hub& hub)
      : directory(options.directory),
        blobs(directory.path() / "blobs", options.image_store),
        preparation(blobs),
        studies(directory.path() / "studies", user_name()),
        study_journals(directory.path() / "study-journals"),
        store(directory.path() / "hub.db"),
        ssh(hub, [this](std::string site, std::string sentence) {
          post(Condition{std::move(site), std::move(sentence)});
        }) {
    owner = {user_name(), "", "", token_hash(directory.token())};
    state.owner = owner.user;
    store.load(state);
    state.images = blobs.images();
    (void)next(state, Opened{}, now());
    publish_tokens();
  }

  // --- in from any thread ---

  void post(Event event) {
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
      inputs.push_back(std::move(event));
    }
    wake.notify_one();
  }

  void perform(const Caller& caller, Request request, Respond respond) {
    const auto id = ++last_request;
    const bool image = std::holds_alternative<PutImage>(request);
    const auto record = image ? std::get<PutImage>(request).record : std::string();
    try {
      auto asked = preparation.prepare(id, caller, std::move(request));
      {
        const std::lock_guard lock(mutex);
        if (stopping) throw Refusal{503, "the hub is being shut down"};
        waiting.emplace(id, std::move(respond));
      }
      if (image)
        errands.run([this, asked, record] { put_image(asked, record); });
      else
        post(std::move(asked));
    } catch (const Refusal& refusal) {
      respond(failure(refusal.status, refusal.sentence));
    }
  }

  void put_image(const Asked& asked, const std::string& record) {
    try {
      if (!asked.caller.site.empty()) throw Error(Failure::usage, "an agent's token is not for images");
      blobs.add_image(record);
      post(ImagesFound{blobs.images()});
      post(asked);
    } catch (const Error& error) {
      respond(asked.id, failure(error.failure() == Failure::usage ? 400 : 503, error.what()));
    }
  }

  void receive(LinkId link, std::string frame) {
    try {
      auto message = message::decode_from_agent(frame);
      if (const auto* fetch = std::get_if<message::Fetch>(&message))
        return errands.run([this, link, ask = *fetch] { answer(link, ask); });
      post(Heard{link, std::move(message)});
    } catch (const Error& error) {
      links.send(link, message::encode(message::FromHub(message::Goodbye{error.what()})));
      links.close(link);
      post(LinkDown{link});
    }
  }

  void answer(LinkId link, const message::Fetch& fetch) {
    message::Chunk chunk{fetch.id, {}, {}};
    try {
      if (!links.is_welcome(link)) throw Error("an agent has to say Hello first");
      chunk.bytes = blobs.read(fetch.digest, fetch.offset, fetch.length);
    } catch (const Error& error) {
      chunk.error = error.what();
    }
    links.send(link, message::encode(message::FromHub(std::move(chunk))));
  }

  // --- the hub's thread ---

  void run() {
    auto next_tick = std::chrono::steady_clock::now();
    for (;;) {
      std::deque<Event> batch;
      bool last = false;
      {
        std::unique_lock lock(mutex);
        wake.wait_until(lock, next_tick, [&] { return stopping || !inputs.empty(); });
        batch.swap(inputs);
        last = stopping;
      }
      if (const auto time = std::chrono::steady_clock::now(); time >= next_tick) {
        next_tick = time + tick_every;
        note_use();
        batch.emplace_back(Tick{});
        look_for_images();
        ticked = true;
      }
      work(batch);
      if (last) return;
    }
  }

  // In a transaction of its own, and not while there is trouble: should the disk be full, nobody else's is
  // undone for it.
  void note_use() {
    if (std::chrono::steady_clock::now() < quiet_until) return;
    auto used = callers.take_used();
    for (const auto& [id, link] : state.links) used.push_back(link.caller.token);
    std::erase_if(used, [this](const auto& hash) { return !state.tokens().contains(hash); });
    if (used.empty()) return;
    std::deque<Event> batch;
    batch.emplace_back(TokensUsed{std::move(used)});
    work(batch);
  }

  void work(std::deque<Event>& batch) {
    Actions actions;
    try {
      failpoint("hub.received");
      for (auto& event : batch) {
        add_history(event);
        take(next(state, event, now()), actions);
      }
      if (state.place_wanted || ticked) take(next(state, Assign{}, now()), actions);
      if (!state.changes().empty()) store.write(state);
    } catch (const std::exception& error) {
      return undo(batch, actions, Error::of(error).what());
    }
    failpoint("hub.committed");
    const bool tick = std::exchange(ticked, false);
    const auto changed = listeners.changed_in(state, tick);
    if (!state.changes().tokens.empty()) publish_tokens();
    state.committed();
    for (auto& action : actions) std::visit([this](auto& one) { act(one); }, action);
    failpoint("hub.replied");
    listeners.tell(state, changed, tick, now());
  }

  static void take(Actions more, Actions& actions) {
    std::move(more.begin(), more.end(), std::back_inserter(actions));
  }

  void add_history(Event& event) {
    auto* asked = std::get_if<Asked>(&event);
    if (asked == nullptr) return;
    if (const auto* show = std::get_if<ShowJob>(&asked->request))
      if (const auto job = state.find_job(show->job); job != none) asked->history = store.notes_of(job);
  }

  // The transaction failed: nothing of the batch has happened. Requests are told so; agents, which have their
  // facts on disk, are cut off and say them again when they come back.
  void undo(const std::deque<Event>& batch, Actions& actions, const std::string& sentence) {
    complain(sentence);
    for (const auto& event : batch)
      if (const auto* heard = std::get_if<Heard>(&event)) cut(heard->link);
    state.roll_back();
    const bool full = sentence.find("is full") != std::string::npos;
    for (const auto& event : batch) {
      const auto* asked = std::get_if<Asked>(&event);
      if (asked == nullptr) continue;
      if (!only_reads(asked->request)) {
        respond(asked->id, failure(full ? 507 : 503, sentence));
        continue;
      }
      for (auto& action : next(state, event, now())) std::visit([this](auto& one) { act(one); }, action);
    }
    // Answers of agents to earlier requests changed nothing.
    for (auto& action : actions)
      if (auto* reply = std::get_if<Reply>(&action)) act(*reply);
  }

  // A disk that is nearly full takes small changes and refuses large ones in turns: one trouble, told once a
  // minute.
  void complain(const std::string& sentence) {
    const auto time = std::chrono::steady_clock::now();
    if (sentence == trouble && time < quiet_until) return;
    warn("{}", sentence);
    trouble = sentence;
    quiet_until = time + complain_every;
  }

  void cut(LinkId link) {
    for (auto& action : next(state, LinkDown{link}, now()))
      std::visit([this](auto& one) { act(one); }, action);
    links.close(link);
  }

  void act(Reply& reply) { respond(reply.id, std::move(reply.response)); }
  void act(Send& send) {
    if (std::holds_alternative<message::Welcome>(send.message)) links.welcome(send.link);
    links.send(send.link, message::encode(send.message));
  }
  void act(const Close& close) { links.close(close.link); }
  void act(const SiteAdded& added) {
    errands.run([this, site = ssh_site(state.site(added.site).record)] { ssh.set(site); });
  }

  void respond(std::uint64_t id, Response response) {
    Respond answer;
    {
      const std::lock_guard lock(mutex);
      const auto found = waiting.find(id);
      if (found == waiting.end()) return;
      answer = std::move(found->second);
      waiting.erase(found);
    }
    answer(std::move(response));
  }

  void look_for_images() {
    errands.run([this] {
      const auto stamp = blobs.images_stamp();
      if (std::exchange(images_stamp, stamp) == stamp) return;
      post(ImagesFound{blobs.images()});
    });
  }

  // --- what others are told ---

  void publish_tokens() {
    Callers::ByHash known;
    for (const auto& [hash, token] : state.tokens())
      known.emplace(hash, Caller{token.user, token.team, token.site, hash});
    known.insert_or_assign(owner.token, owner);
    callers.publish(std::move(known));
  }

  Directory directory;
  Blobs blobs;
  Preparation preparation;
  Studies studies;
  StudyJournals study_journals;
  Store store;
  State state;  // the hub's thread's alone
  bool ticked = false;
  std::string trouble;  // the last that was told of
  std::chrono::steady_clock::time_point quiet_until;
  Caller owner;
  Links links;

  std::mutex mutex;  // of what follows
  std::condition_variable wake;
  std::deque<Event> inputs;
  std::unordered_map<std::uint64_t, Respond> waiting;
  bool stopping = false;
  std::atomic<std::uint64_t> last_request{0};

  Callers callers;
  Listeners listeners;

  std::string images_stamp;  // the errands' alone
  SshSites ssh;
  Errands errands;
  std::thread thread;
};

Hub::Hub(const Options& options) : parts_(std::make_unique<Parts>(options, *this)) {
  for (const auto& site : parts_->state.sites())
    if (!site.record.removed && !site.record.ssh.empty()) parts_->ssh.set(ssh_site(site.record));
  parts_->thread = std::thread([this] { parts_->run(); });
}

Hub::~Hub() {
  parts_->errands.stop();
  parts_->ssh.stop();
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->stopping = true;
  }
  parts_->wake.notify_one();
  parts_->thread.join();
  parts_->links.close_all();
  for (auto& [id, respond] : std::exchange(parts_->waiting, {}))
    respond(failure(503, "the hub is being shut down"));
}

void Hub::perform(const Caller& caller, Request request, Respond respond) {
  parts_->perform(caller, std::move(request), std::move(respond));
}

std::optional<Caller> Hub::caller(std::string_view token) const {
  return parts_->callers.find(token);
}

bool Hub::knows(const Caller& caller) const {
  return parts_->callers.knows(caller);
}

std::string Hub::owner_token() const {
  return parts_->directory.token();
}

Hub::LinkId Hub::connect(const Caller& caller, std::shared_ptr<AgentLink> link) {
  const auto id = parts_->links.add(std::move(link));
  parts_->post(LinkUp{id, caller});
  return id;
}

void Hub::receive(LinkId link, std::string frame) {
  parts_->receive(link, std::move(frame));
}

void Hub::disconnect(LinkId link) {
  parts_->links.forget(link);
  parts_->post(LinkDown{link});
}

bool Hub::has_blob(std::string_view digest) const {
  return parts_->blobs.has(digest);
}

std::optional<std::uint64_t> Hub::blob_size(std::string_view digest) const {
  return parts_->blobs.size(digest);
}

std::uint64_t Hub::upload(std::string_view digest, std::uint64_t offset, std::uint64_t size,
                          std::string_view bytes) {
  return parts_->blobs.upload(digest, offset, size, bytes);
}

std::uint64_t Hub::uploaded(std::string_view digest) const {
  return parts_->blobs.uploaded(digest);
}

std::string Hub::read_blob(std::string_view digest, std::uint64_t offset, std::uint64_t length) const {
  return parts_->blobs.read(digest, offset, length);
}

const Studies& Hub::studies() const {
  return parts_->studies;
}

StudyJournals& Hub::study_journals() const {
  return parts_->study_journals;
}

std::uint64_t Hub::listen(Listener listener) {
  return parts_->listeners.add(std::move(listener));
}

void Hub::unlisten(std::uint64_t id) {
  parts_->listeners.remove(id);
}

}  // namespace longship::hub
