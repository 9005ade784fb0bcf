// SPDX-License-Identifier: Apache-2.0
#include "bringer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/say.h"
#include "formats/digest.h"

namespace longship::agent {
namespace {

namespace fs = std::filesystem;

constexpr auto pause_after_trouble = std::chrono::seconds(10);
constexpr int most_failures = 3;

void write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw Error::from_errno(errno, "cannot write what the hub sends");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
}

void copy(const fs::path& from, int to) {
  const Fd source = open_file(from, O_RDONLY);
  std::string buffer(std::size_t{1} << 20, '\0');
  for (;;) {
    const auto got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read {}", from.native());
    if (got == 0) return;
    write_all(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
}

// The name that the hub's store has for it, unless something else has that name here: what jobs were promised
// stays what it is.
std::string name_here(const store::Store& store, const store::Image& image) {
  try {
    for (const auto& other : store.list())
      if (other.name == image.name && other.root != image.root)
        return "carried/" + std::string(formats::hex_of(image.root).substr(0, 16));
  } catch (const Error&) {
    // a store that cannot be listed has no names
  }
  return image.name;
}

void place_image(const fs::path& where, const WantedBlob& blob, const fs::path& part) {
  store::Store store(where);
  auto image = store::image_from_json(formats::parse_json(blob.image, "image"));
  image.name = name_here(store, image);
  auto aside = store.aside();
  copy(part, aside.fd());
  store.add(image, std::move(aside));
  fs::remove(part);
}

}  // namespace

void place(const message::Spool& spool, const fs::path& store, const WantedBlob& blob, const fs::path& part) {
  if (const auto found = formats::digest_of_file(part); found != blob.digest) {
    fs::remove(part);
    throw Error("what came has digest {} instead of {}", found, blob.digest);
  }
  failpoint("agent.brought");
  if (blob.kind == WantedBlob::Kind::image) return place_image(store, blob, part);
  const Fd file = open_file(part, O_RDWR);
  if (::fsync(file.get()) != 0) throw Error::from_errno(errno, "cannot write {}", part.native());
  fs::rename(part, spool.code(blob.digest));
  sync_directory(part.parent_path());
}

Bringer::Bringer(message::Spool spool, fs::path store, World world)
    : spool_(std::move(spool)), store_(std::move(store)), world_(std::move(world)) {}

fs::path Bringer::part(const std::string& digest) const {
  return spool_.code(digest).parent_path() / (std::string(formats::hex_of(digest)) + ".part");
}

bool Bringer::has(const WantedBlob& blob) const {
  std::error_code ignored;
  return fs::exists(
      blob.kind == WantedBlob::Kind::code ? spool_.code(blob.digest) : store::Store(store_).blob(blob.digest),
      ignored);
}

void Bringer::want(const WantedBlob& blob) {
  const auto [at, is_new] = transfers_.try_emplace(blob.digest);
  if (!is_new) return;
  at->second.blob = blob;
  ask(at->second);
}

// Goes on where an earlier connection, or agent, came to.
void Bringer::open(Transfer& transfer) {
  if (transfer.file) return;
  transfer.file = open_file(part(transfer.blob.digest), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  struct stat info {};
  if (::fstat(transfer.file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Error("{} is no file of ours", part(transfer.blob.digest).native());
  transfer.have = static_cast<std::uint64_t>(info.st_size);
  if (transfer.blob.size == 0 || transfer.have <= transfer.blob.size) return;
  if (::ftruncate(transfer.file.get(), 0) != 0) throw Error::from_errno(errno, "cannot start anew");
  transfer.have = 0;
}

void Bringer::ask(Transfer& transfer) {
  if (transfer.asked != 0 || transfer.checking || transfer.again) return;
  try {
    open(transfer);
  } catch (const Error& error) {
    trouble_ = error.what();
    transfer.again = now_ + pause_after_trouble;
    return;
  }
  const auto& blob = transfer.blob;
  if (blob.size > 0 && transfer.have == blob.size) return check(transfer);
  if (!up_) return;
  transfer.asked = next_id_++;
  transfer.length = blob.size > 0 ? std::min(piece, blob.size - transfer.have) : piece;
  world_.ask({transfer.asked, blob.digest, transfer.have, transfer.length});
}

void Bringer::take(const message::Chunk& chunk, Instant now) {
  const auto at = std::find_if(transfers_.begin(), transfers_.end(), [&](const auto& one) {
    return one.second.asked == chunk.id && chunk.id != 0;
  });
  now_ = now;
  if (at == transfers_.end()) return;  // of a connection before this one
  auto& transfer = at->second;
  transfer.asked = 0;
  if (!chunk.error.empty()) return fail(at->first, chunk.error);
  const bool whole_size_known = transfer.blob.size > 0;
  if (chunk.bytes.size() > transfer.length || (chunk.bytes.empty() && whole_size_known))
    return fail(at->first, "the hub sent another amount than was asked for");
  try {
    write_at(transfer.file.get(), chunk.bytes, transfer.have);
  } catch (const Error& error) {
    trouble_ = error.what();
    transfer.again = now + pause_after_trouble;
    return;
  }
  failpoint("agent.chunk");
  trouble_.clear();
  transfer.have += chunk.bytes.size();
  if (!whole_size_known && chunk.bytes.size() < transfer.length) return check(transfer);
  ask(transfer);
}

void Bringer::check(Transfer& transfer) {
  transfer.checking = true;
  transfer.file.reset();
  world_.worker.post([this, alive = std::weak_ptr(alive_), &mailbox = world_.mailbox, blob = transfer.blob,
                      spool = spool_, store = store_, file = part(transfer.blob.digest)] {
    std::string error;
    bool mend = false;
    try {
      place(spool, store, blob, file);
    } catch (const std::exception& problem) {
      error = Error::of(problem).what();
      std::error_code ignored;
      mend = std::filesystem::exists(file, ignored);  // the digest was right: it is the disk
    }
    mailbox.post([this, alive, blob, error, mend] {
      if (alive.expired()) return;
      const auto at = transfers_.find(blob.digest);
      if (at == transfers_.end()) return;
      if (error.empty()) {
        transfers_.erase(at);
        world_.done(BlobHere{blob.digest});
        return;
      }
      at->second.checking = false;
      at->second.have = 0;
      if (!mend) return fail(blob.digest, error);
      trouble_ = error;
      at->second.again = now_ + pause_after_trouble;
    });
  });
}

// Twice more, in case the bytes were spoilt on their way.
void Bringer::fail(const std::string& digest, const std::string& why) {
  const auto at = transfers_.find(digest);
  warn("{}: {}", digest, why);
  if (++at->second.failures < most_failures) return ask(at->second);
  const std::string copy = digest;
  transfers_.erase(at);
  world_.done(BlobMissing{copy, why});
}

void Bringer::link_up() {
  up_ = true;
  for (auto& [digest, transfer] : transfers_) ask(transfer);
}

void Bringer::link_down() {
  up_ = false;
  for (auto& [digest, transfer] : transfers_) transfer.asked = 0;
}

void Bringer::tick(Instant now) {
  now_ = now;
  for (auto& [digest, transfer] : transfers_)
    if (transfer.again && now >= *transfer.again) {
      transfer.again.reset();
      ask(transfer);
    }
}

}  // namespace longship::agent
