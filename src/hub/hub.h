// SPDX-License-Identifier: Apache-2.0
// The hub: a thread that owns the state. Requests and what agents say become events; events go through next()
// (next.h), their changes into the store, many in one transaction, and only when that is durable are replies
// given and commands sent. Everything here may be called from any thread.
//
// Failpoints: hub.received (a batch is taken), hub.written (before COMMIT), hub.committed (before replies and
// commands; kill and stop only), hub.replied (after them; likewise), hub.uploaded (a blob is checked and
// synced, but has no name yet).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "request.h"

namespace longship::hub {

class Studies;
class StudyJournals;

struct Options {
  std::filesystem::path directory;    // hub.db, blobs/, token; 0700, locked: a second hub on it is an Error
  std::filesystem::path image_store;  // images that jobs may name, and where uploaded ones go
};

// One connection of one agent. The hub calls `send` with whole frames (message::encode), never after close().
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void send(std::string frame) = 0;  // queues; must not block
  virtual void close() = 0;
};

class Hub {
 public:
  explicit Hub(const Options& options);
  ~Hub();  // what was accepted is durable
  Hub(const Hub&) = delete;

  // `respond` is called once, from the hub's thread, after what was asked is durable; it must be quick.
  void perform(const Caller& caller, Request request, Respond respond);

  [[nodiscard]] std::optional<Caller> caller(std::string_view token) const;  // nobody: none
  [[nodiscard]] bool knows(const Caller& caller) const;                      // false: its token was revoked
  [[nodiscard]] std::string owner_token() const;                             // in directory/token, 0600

  // --- agents ---
  using LinkId = std::uint64_t;
  // The first frame from a link must be Hello for a site that `caller` may speak for.
  LinkId connect(const Caller& caller, std::shared_ptr<AgentLink> link);
  void receive(LinkId link, std::string frame);
  void disconnect(LinkId link);

  // --- bytes: bundles, images ---
  [[nodiscard]] bool has_blob(std::string_view digest) const;
  [[nodiscard]] std::optional<std::uint64_t> blob_size(
      std::string_view digest) const;  // nothing: no such blob
  // Appends at `offset`, which must be where the upload stands (its answer; 0 at first). When `size` bytes
  // are there the digest is checked, and the blob appears or the upload is thrown away with an Error.
  std::uint64_t upload(std::string_view digest, std::uint64_t offset, std::uint64_t size,
                       std::string_view bytes);
  [[nodiscard]] std::uint64_t uploaded(std::string_view digest) const;  // so far
  [[nodiscard]] std::string read_blob(std::string_view digest, std::uint64_t offset,
                                      std::uint64_t length) const;

  // --- studies, as their owners show them ---
  [[nodiscard]] const Studies& studies() const;
  [[nodiscard]] StudyJournals& study_journals() const;  // of those that live here

  // --- live ---
  // Called from the hub's thread with a kind ("job", "site") and the JSON of what changed; must be quick.
  // "reset": more has changed at once than is worth telling, ask again.
  using Listener = std::function<void(std::string_view kind, std::string_view json)>;
  std::uint64_t listen(Listener listener);
  void unlisten(std::uint64_t id);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::hub
