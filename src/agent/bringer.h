// SPDX-License-Identifier: Apache-2.0
// Bytes from the hub to the site: bundles into the spool, images into the site's store.
//
// A blob comes in pieces that are asked for one by one, so that log lines and heartbeats pass between them.
// What has come is in SPOOL/code/HEX.part and is gone on with after a lost connection or a restart. When all
// is there its digest is checked, in another thread; only then it gets its name.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "engine.h"
#include "message/spool.h"
#include "store/store.h"
#include "worker.h"

namespace longship::agent {

class Bringer {
 public:
  static constexpr std::uint64_t piece = std::uint64_t{4} << 20;

  struct World {
    std::function<void(const message::Fetch&)> ask;  // the hub
    std::function<void(Input)> done;                 // BlobHere or BlobMissing; called from any thread
    Worker& worker;
    Mailbox& mailbox;
  };
  Bringer(message::Spool spool, std::filesystem::path store, World world);

  [[nodiscard]] bool has(const WantedBlob& blob) const;
  void want(const WantedBlob& blob);
  void take(const message::Chunk& chunk, Instant now);
  void link_up();
  void link_down();
  void tick(Instant now);  // asks again for what could not be written
  [[nodiscard]] const std::string& trouble() const { return trouble_; }  // a sentence, or nothing

 private:
  struct Transfer {
    WantedBlob blob;
    Fd file;
    std::uint64_t have = 0;
    std::uint64_t asked = 0;   // id of the request under way; 0: none
    std::uint64_t length = 0;  // that it asked for
    int failures = 0;
    std::optional<Instant> again;  // after trouble with the disk
    bool checking = false;
  };
  void open(Transfer& transfer);
  void ask(Transfer& transfer);
  void check(Transfer& transfer);
  void fail(const std::string& digest, const std::string& why);
  [[nodiscard]] std::filesystem::path part(const std::string& digest) const;

  message::Spool spool_;
  std::filesystem::path store_;
  World world_;
  std::map<std::string, Transfer> transfers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for results that come after us
  bool up_ = false;
  Instant now_{};
  std::uint64_t next_id_ = 1;
  std::string trouble_;
};

// Gives checked bytes their name; an Error if they are not what the digest says. For the worker.
void place(const message::Spool& spool, const std::filesystem::path& store, const WantedBlob& blob,
           const std::filesystem::path& part);

}  // namespace longship::agent
