// SPDX-License-Identifier: Apache-2.0
#include "greeting.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace longship::collective {
namespace {

constexpr std::string_view magic = "longship greeting 1\n";
constexpr std::size_t nonce_size = 32;
constexpr std::size_t digest_size = sizeof(Digest);
constexpr std::size_t longest_words = 64 * 1024;
constexpr std::size_t longest_greeting = std::size_t{256} << 20;
constexpr std::size_t most_visitors = 4096;
constexpr Duration visitor_patience = std::chrono::seconds(5);

Instant later(Instant now, Duration by) {
  return now + std::chrono::duration_cast<Instant::duration>(by);
}

int milliseconds_until(Instant until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long>(left.count(), 0, 3'600'000));
}

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Digest proof(const Bytes& secret, std::string_view role, std::span<const std::byte> porter_nonce,
             std::span<const std::byte> guest_nonce, std::span<const std::byte> words) {
  Bytes message;
  append(message, std::as_bytes(std::span(role)));
  append(message, porter_nonce);
  append(message, guest_nonce);
  append(message, words);
  return hmac_sha256(secret, message);
}

void await(int socket, short events, Instant until) {
  pollfd entry = {socket, events, 0};
  const int ready = ::poll(&entry, 1, milliseconds_until(until));
  if (ready == 0) throw Error("no answer in time");
  if (ready < 0 && errno != EINTR) throw Error::from_errno(errno, "poll");
}

void send_all(int socket, std::span<const std::byte> bytes, Instant until) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EINTR)
      await(socket, POLLOUT, until);
    else
      throw Error::from_errno(errno, "connection");
  }
}

void receive_all(int socket, std::span<std::byte> bytes, Instant until) {
  while (!bytes.empty()) {
    const auto received = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    else if (received == 0)
      throw Error("connection: closed by the other end");
    else if (errno == EAGAIN || errno == EINTR)
      await(socket, POLLIN, until);
    else
      throw Error::from_errno(errno, "connection");
  }
}

// Where the parts of a guest's answer are; nothing while it is incomplete.
struct Answer {
  std::span<const std::byte> nonce, words, proof;
};
std::optional<Answer> parsed(std::span<const std::byte> said) {
  std::uint32_t length = 0;
  if (said.size() < nonce_size + sizeof length) return {};
  std::memcpy(&length, said.data() + nonce_size, sizeof length);
  const std::size_t words_at = nonce_size + sizeof length;
  if (said.size() < words_at + length + digest_size) return {};
  return Answer{said.first(nonce_size), said.subspan(words_at, length),
                said.subspan(words_at + length, digest_size)};
}

bool too_long(std::span<const std::byte> said) {
  std::uint32_t length = 0;
  if (said.size() < nonce_size + sizeof length) return false;
  std::memcpy(&length, said.data() + nonce_size, sizeof length);
  return length > longest_words;
}

}  // namespace

Bytes random_bytes(std::size_t count) {
  Bytes bytes(count);
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count))
    throw Error::from_errno(errno, "cannot get random bytes");
  return bytes;
}

Porter::Porter(Fd listener, Bytes secret) : listener_(std::move(listener)), secret_(std::move(secret)) {}

std::optional<Guest> Porter::next(Instant until) {
  for (;;) {
    const Instant now = std::chrono::steady_clock::now();
    std::erase_if(visitors_, [&](const Visitor& visitor) { return now >= visitor.until; });
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
      if (!hear(*visitor)) {
        visitor = visitors_.erase(visitor);
        continue;
      }
      if (!parsed(visitor->said)) {
        ++visitor;
        continue;
      }
      auto guest = admit(*visitor);
      visitor = visitors_.erase(visitor);
      if (guest) return guest;
    }
    if (now >= until) return {};
    std::vector<pollfd> entries = {{listener_.get(), POLLIN, 0}};
    Instant soonest = until;
    for (const auto& visitor : visitors_) {
      entries.push_back({visitor.socket.get(), POLLIN, 0});
      soonest = std::min(soonest, visitor.until);
    }
    if (::poll(entries.data(), entries.size(), milliseconds_until(soonest)) < 0 && errno != EINTR)
      throw Error::from_errno(errno, "poll");
    if ((entries.front().revents & POLLIN) != 0) welcome(std::chrono::steady_clock::now());
  }
}

void Porter::welcome(Instant now) {
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || visitors_.size() >= most_visitors) return;
  Bytes nonce = random_bytes(nonce_size);
  Bytes hello;
  append(hello, std::as_bytes(std::span(magic)));
  append(hello, nonce);
  // Goes into the fresh socket's buffer as a whole, or it is nobody we know.
  if (::send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(hello.size()))
    return;
  visitors_.push_back({std::move(socket), std::move(nonce), {}, later(now, visitor_patience)});
}

bool Porter::hear(Visitor& visitor) const {
  std::byte buffer[4096];
  for (;;) {
    const auto received = ::recv(visitor.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    if (received == 0) return false;
    append(visitor.said, std::span(buffer).first(static_cast<std::size_t>(received)));
    if (too_long(visitor.said)) return false;
    if (parsed(visitor.said)) return true;  // whoever goes on talking is not listened to
  }
}

std::optional<Guest> Porter::admit(Visitor& visitor) const {
  const auto answer = parsed(visitor.said);
  if (!equal(answer->proof, proof(secret_, "guest", visitor.nonce, answer->nonce, answer->words))) return {};
  const Digest own = proof(secret_, "porter", visitor.nonce, answer->nonce, answer->words);
  if (::send(visitor.socket.get(), own.data(), own.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(own.size()))
    return {};
  return Guest{std::move(visitor.socket), Bytes(answer->words.begin(), answer->words.end())};
}

void greet(int socket, const Bytes& secret, const Bytes& words, Instant until) {
  Bytes hello(magic.size() + nonce_size);
  receive_all(socket, hello, until);
  if (std::memcmp(hello.data(), magic.data(), magic.size()) != 0) throw Error("not a rank of a Longship job");
  const auto porter_nonce = std::span(hello).subspan(magic.size());
  const Bytes nonce = random_bytes(nonce_size);
  const auto length = static_cast<std::uint32_t>(words.size());
  Bytes answer = nonce;
  append(answer, std::as_bytes(std::span(&length, 1)));
  append(answer, words);
  append(answer, proof(secret, "guest", porter_nonce, nonce, words));
  send_all(socket, answer, until);
  Digest theirs;
  within("the other end does not accept LONGSHIP_SECRET", [&] { receive_all(socket, theirs, until); });
  if (!equal(theirs, proof(secret, "porter", porter_nonce, nonce, words)))
    throw Error("the other end does not know LONGSHIP_SECRET");
}

void send_message(int socket, const Bytes& bytes, Instant until) {
  const auto length = static_cast<std::uint64_t>(bytes.size());
  Bytes whole;
  append(whole, std::as_bytes(std::span(&length, 1)));
  append(whole, bytes);
  send_all(socket, whole, until);
}

Bytes receive_message(int socket, Instant until) {
  std::uint64_t length = 0;
  receive_all(socket, std::as_writable_bytes(std::span(&length, 1)), until);
  if (length > longest_greeting) throw Error("a message of {} bytes cannot be", length);
  Bytes bytes(static_cast<std::size_t>(length));
  receive_all(socket, bytes, until);
  return bytes;
}

}  // namespace longship::collective
