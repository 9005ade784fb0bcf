// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/fields.h"
#include "net/address.h"
#include "net/http.h"

namespace longship::image {
namespace {

using namespace std::chrono_literals;

constexpr int most_tries = 6;
constexpr int most_redirects = 5;
constexpr std::size_t largest_manifest = 4u << 20;
constexpr std::size_t upload_piece = 16u << 20;
constexpr const char* manifest_types =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

// What is not a blob, which goes to a file, is a document.
net::HttpClient::Options client_options(const RegistryOptions& options) {
  return {.ca_file = options.ca_file, .largest_body = largest_manifest};
}

bool speaks_tls(const std::string& host, const RegistryOptions& options) {
  try {
    static_cast<void>(net::HttpClient("https://" + host, client_options(options)).perform({.path = "/v2/"}));
    return true;
  } catch (const net::Unreachable&) {
    return false;
  }
}

// On this machine a registry may do without TLS, and most do; elsewhere only if that was asked for.
std::string address_of(const std::string& registry, const RegistryOptions& options) {
  // The one registry whose address is not its name.
  const std::string host = registry == "docker.io" ? "registry-1.docker.io" : registry;
  const bool local = net::is_loopback(net::parse_address("http://" + host).host);
  const bool plain = options.plain_http || (local && !speaks_tls(host, options));
  return (plain ? "http://" : "https://") + host;
}

std::string origin_of(const net::Address& address) {
  return (address.tls ? "https://" : "http://") + address.authority();
}

bool worth_another_try(int status) {
  return status == 408 || status == 429 || status >= 500;
}

std::chrono::milliseconds pause_before(int attempt, const net::Answer* answer) {
  if (answer != nullptr)
    if (const auto told = answer->number("retry-after"); told > 0)
      return std::chrono::seconds(std::min<std::uint64_t>(told, 60));
  return 250ms * (1 << attempt);
}

// {"errors": [{"code": "NAME_UNKNOWN", "message": "…"}]}
std::string words_of(const net::Answer& answer) {
  try {
    const auto document = formats::parse_json(answer.body, "answer");
    const auto& first = formats::Fields(document, "").required("errors").array().at(0);
    const formats::Fields fields(first, "errors");
    const auto message = fields.text("message", "");
    return printable(message.empty() ? fields.text("code") : message);
  } catch (const std::exception&) {
    return {};
  }
}

// {"token": "…"} from Docker's, {"access_token": "…"} from others.
std::string token_in(std::string_view body) {
  try {
    const auto document = formats::parse_json(body, "token");
    const formats::Fields fields(document, "");
    auto token = fields.text("token", "");
    if (token.empty()) token = fields.text("access_token");
    if (!token.empty() && token.find_first_of("\r\n") == std::string::npos) return token;
  } catch (const Error& error) {
    throw Error("its token is none: {}", error.what());  // nobody here used anything wrongly
  }
  throw Error("its token is none");
}

}  // namespace

struct Registry::Parts {
  Reference reference;
  Access access;
  RegistryOptions options;
  net::HttpClient client;
  std::string authorization;  // for the registry itself, as the header has it

  [[nodiscard]] int tries() const { return options.patient ? most_tries : 1; }
  [[nodiscard]] std::string repository(const std::string& rest) const {
    return "/v2/" + reference.full_repository() + rest;
  }
  net::Answer ask(const net::Call& call);
  net::Answer ask_once(net::Call call);
  net::Answer follow(net::Call call, net::Answer answer);
  void authorize(const net::Answer& refusal);
  [[nodiscard]] std::string token_for(const Challenge& challenge);
  [[nodiscard]] Error refused(const net::Answer& answer, std::string_view what) const;
  void fetch_rest(BlobFile& blob, const BytesMoved& moved);
  [[nodiscard]] std::pair<std::string, std::string> begin_upload();
};

Registry::Registry(const Reference& reference, Access access, RegistryOptions options)
    : parts_(new Parts{reference,
                       access,
                       options,
                       net::HttpClient(address_of(reference.registry, options), client_options(options)),
                       {}}) {}
Registry::Registry(Registry&&) noexcept = default;
Registry::~Registry() = default;

// Tries again where that may help: a busy server, a connection that broke before anything came.
net::Answer Registry::Parts::ask(const net::Call& call) {
  for (int attempt = 0;; ++attempt) {
    try {
      net::Answer answer = ask_once(call);
      if (!worth_another_try(answer.status) || attempt + 1 == tries()) return answer;
      std::this_thread::sleep_for(pause_before(attempt, &answer));
    } catch (const net::Unreachable&) {
      if (attempt + 1 == tries()) throw;
      std::this_thread::sleep_for(pause_before(attempt, nullptr));
    }
  }
}

net::Answer Registry::Parts::ask_once(net::Call call) {
  const auto headers = call.headers;
  for (bool authorized = false;; authorized = true) {
    call.headers = headers;
    if (!authorization.empty()) call.headers.emplace_back("Authorization", authorization);
    net::Answer answer = client.perform(call);
    if (answer.status == 401 && !authorized) {
      authorize(answer);
      continue;
    }
    call.headers = headers;  // what is for the registry stays there
    return follow(call, std::move(answer));
  }
}

net::Answer Registry::Parts::follow(net::Call call, net::Answer answer) {
  std::string origin = client.url();
  for (int count = 0; answer.status >= 300 && answer.status < 400 && answer.status != 304; ++count) {
    if (count == most_redirects) throw Error("it redirects again and again");
    const auto location = answer.header("location");
    if (location.empty()) throw Error("it redirects to nowhere");
    const auto to = net::parse_address(location.starts_with("/") ? origin + location : location);
    if (origin.starts_with("https:") && !to.tls)
      throw Error("it redirects from https to http, which is refused: {}", printable(location));
    call.path = to.path;
    const bool home = origin_of(to) == client.url();
    if (home && !authorization.empty()) call.headers.emplace_back("Authorization", authorization);
    origin = origin_of(to);
    net::HttpClient other(origin, client_options(options));
    answer = other.perform(call);
    if (home && !authorization.empty()) call.headers.pop_back();
  }
  return answer;
}

void Registry::Parts::authorize(const net::Answer& refusal) {
  const auto challenge = parse_challenge(refusal.header("www-authenticate"));
  if (!challenge) throw Error("it refuses, and does not say how to prove who one is");
  if (challenge->scheme == "bearer") {
    authorization = "Bearer " + token_for(*challenge);
    return;
  }
  if (!options.credentials)
    throw Error("it wants a user and a password: longship image login {} -u USER", reference.registry);
  authorization = "Basic " + base64(options.credentials->user + ":" + options.credentials->password);
}

std::string Registry::Parts::token_for(const Challenge& challenge) {
  const auto realm = net::parse_address(challenge.realm);
  const bool through_tls = client.url().starts_with("https:");
  const bool stays_here = net::is_loopback(realm.host) || options.plain_http || !options.credentials;
  if (!realm.tls && (through_tls || !stays_here))
    throw Error("it wants credentials sent in the clear to {}, which is refused", printable(challenge.realm));
  const std::string scope = fmt::format("repository:{}:{}", reference.full_repository(),
                                        access == Access::push ? "pull,push" : "pull");
  net::HttpClient other(origin_of(realm), client_options(options));
  net::Call call;
  std::string form;
  if (options.credentials && !options.credentials->identity_token.empty()) {
    form = fmt::format("grant_type=refresh_token&service={}&scope={}&client_id=longship&refresh_token={}",
                       net::percent_encode(challenge.service), net::percent_encode(scope),
                       net::percent_encode(options.credentials->identity_token));
    call.method = "POST";
    call.path = realm.path;
    call.body = form;
    call.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  } else {
    call.path = fmt::format("{}{}service={}&scope={}", realm.path,
                            realm.path.find('?') == std::string::npos ? '?' : '&',
                            net::percent_encode(challenge.service), net::percent_encode(scope));
    if (options.credentials)
      call.headers = {{"Authorization",
                       "Basic " + base64(options.credentials->user + ":" + options.credentials->password)}};
  }
  const auto answer = other.perform(call);
  if (!answer.ok()) throw refused(answer, "it gives no token");
  return token_in(answer.body);
}

Error Registry::Parts::refused(const net::Answer& answer, std::string_view what) const {
  const auto words = words_of(answer);
  if (answer.status == 401 || answer.status == 403)
    return Error("{}: {}{}; longship image login {} -u USER", what,
                 options.credentials ? "it does not let this user in" : "it wants to know who asks",
                 words.empty() ? "" : " (" + words + ")", reference.registry);
  if (answer.status == 404)
    return Error("{}: there is none{}", what, words.empty() ? "" : " (" + words + ")");
  return Error("{}: it answers {}{}", what, answer.status, words.empty() ? "" : " (" + words + ")");
}

void Registry::check_access() {
  const auto answer = parts_->ask({.path = "/v2/"});
  if (!answer.ok()) throw parts_->refused(answer, parts_->reference.registry);
}

Manifest Registry::manifest(const std::string& object) {
  net::Call call{.path = parts_->repository("/manifests/" + object)};
  call.headers = {{"Accept", manifest_types}};
  auto answer = parts_->ask(call);
  if (!answer.ok()) throw parts_->refused(answer, "manifest " + object);
  Manifest found{std::move(answer.body), answer.header("content-type"), {}};
  found.digest = formats::digest_of(found.bytes);
  if (formats::is_digest(object) && found.digest != object)
    throw Error("manifest {}: its digest does not match its content", object);
  return found;
}

void Registry::put_manifest(const std::string& object, const Manifest& manifest) {
  net::Call call{.method = "PUT", .path = parts_->repository("/manifests/" + object), .body = manifest.bytes};
  call.headers = {{"Content-Type", manifest.type}};
  const auto answer = parts_->ask(call);
  if (!answer.ok()) throw parts_->refused(answer, "manifest " + object);
}

bool Registry::has(const std::string& digest) {
  return parts_->ask({.method = "HEAD", .path = parts_->repository("/blobs/" + digest)}).ok();
}

void Registry::fetch(BlobFile& blob, const BytesMoved& moved) {
  for (;;) {
    const bool had_some = blob.here() > 0;
    parts_->fetch_rest(blob, moved);
    if (blob.verify()) return;
    // What was there before may have been wrong, and not what the registry gave.
    if (!had_some) throw Error("blob {}: its digest does not match its content", blob.digest());
  }
}

void Registry::Parts::fetch_rest(BlobFile& blob, const BytesMoved& moved) {
  net::Call call{.path = repository("/blobs/" + blob.digest())};
  call.begins = [&](int status) {
    if (status != 206 && blob.here() > 0) blob.restart();  // it cannot go on in the middle
  };
  call.sink = [&](std::string_view piece) {
    blob.append(piece);
    if (moved) moved(piece.size());
  };
  for (int attempt = 0; !blob.is_complete(); ++attempt) {
    const auto before = blob.here();
    call.headers.clear();
    if (before > 0) call.headers = {{"Range", fmt::format("bytes={}-", before)}};
    std::optional<net::Answer> answer;
    try {
      answer = ask_once(call);
      if (blob.is_complete()) return;
      // It does not break off: it has no more.
      if (answer->status == 416 || (answer->ok() && !answer->header("content-length").empty()))
        throw Error("blob {}: the registry has only {} of its {} bytes; push the image again", blob.digest(),
                    blob.here(), blob.size());
      if (!answer->ok() && !worth_another_try(answer->status))
        throw refused(*answer, "blob " + blob.digest());
    } catch (const net::Unreachable&) {
      if (attempt >= tries()) throw;
    }
    if (blob.here() > before) attempt = 0;  // some of it came: that counts as progress
    if (attempt >= tries())
      throw Error("blob {}: it breaks off after {} of {} bytes, again and again", blob.digest(), blob.here(),
                  blob.size());
    std::this_thread::sleep_for(pause_before(std::min(attempt, 5), answer ? &*answer : nullptr));
  }
}

// Where the pieces go: another address for each upload.
std::pair<std::string, std::string> Registry::Parts::begin_upload() {
  const auto answer = ask({.method = "POST", .path = repository("/blobs/uploads/")});
  if (answer.status != 202) throw refused(answer, "upload");
  const auto location = answer.header("location");
  const auto to = net::parse_address(location.starts_with("/") ? client.url() + location : location);
  return {origin_of(to), to.path};
}

void Registry::upload(const std::string& digest, std::uint64_t size, int fd, const BytesMoved& moved) {
  auto [origin, path] = parts_->begin_upload();
  const bool home = origin == parts_->client.url();
  net::HttpClient other(origin, client_options(parts_->options));
  const auto send = [&](net::Call call) {
    return home ? parts_->ask_once(std::move(call)) : other.perform(call);
  };
  std::string piece;
  for (std::uint64_t at = 0; at < size;) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(upload_piece, size - at)));
    const auto got = ::pread(fd, piece.data(), piece.size(), static_cast<off_t>(at));
    if (got <= 0) throw Error::from_errno(got < 0 ? errno : EIO, "cannot read blob {}", digest);
    piece.resize(static_cast<std::size_t>(got));
    net::Call call{.method = "PATCH", .path = path, .body = piece};
    call.headers = {{"Content-Type", "application/octet-stream"},
                    {"Content-Range", fmt::format("{}-{}", at, at + piece.size() - 1)}};
    const auto answer = send(call);
    if (answer.status != 202) throw parts_->refused(answer, "blob " + digest);
    if (const auto next = answer.header("location"); !next.empty())
      path = net::parse_address(next.starts_with("/") ? origin + next : next).path;
    at += piece.size();
    if (moved) moved(piece.size());
  }
  net::Call last{.method = "PUT",
                 .path = path + (path.find('?') == std::string::npos ? "?" : "&") +
                         "digest=" + net::percent_encode(digest)};
  const auto answer = send(last);
  if (answer.status != 201) throw parts_->refused(answer, "blob " + digest);
}

}  // namespace longship::image
