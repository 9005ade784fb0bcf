// SPDX-License-Identifier: Apache-2.0
// From the head of an HTTP request to what is to be done: all of the API's addresses, without a socket.
// Whoever wrote the request is not trusted; tests/fuzz/route_fuzz.cpp tries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "http_range.h"
#include "request.h"

namespace longship::hub::http {

struct Head {
  std::string_view method = {}, target = {};
  // Headers; empty if absent.
  std::string_view range = {}, content_range = {}, idempotency_key = {}, last_event_id = {};
};

// --- what is to be done ---

struct Ask {
  Request request;
};
enum class BodyKind { job, site, image, token };
struct AskWithBody {  // read the body, then request_from()
  BodyKind kind = BodyKind::job;
  std::size_t limit = 0;
  std::string key;
};
struct SendFile {  // a file of an attempt, in pieces
  AskSite ask;
  std::optional<ByteRange> range;
};
struct SendLog {
  AskSite ask;            // with length
  std::int64_t from = 0;  // negative: that many bytes from the end
};
struct BlobHead {
  std::string digest;
};
struct BlobGet {
  std::string digest;
  std::optional<ByteRange> range;
};
struct BlobPut {
  std::string digest;
  std::optional<ContentRange> range;  // otherwise the body is all of it
};
struct StudyList {};
struct StudyGet {
  std::string owner, name;
};
struct StudyPut {
  std::string name;
};
struct StudyLogs {
  std::string owner, name;
};
struct StudyLogGet {
  std::string owner, name, log;
  std::uint64_t from = 0;
};
struct StudyRun {  // who carries it out from now on
  std::string name, run;
};
struct StudyLogPut {
  std::string name, log, run;
  std::uint64_t at = 0;
};
struct Events {
  std::string last;  // Last-Event-ID
};
struct AgentSocket {};
struct Health {};
struct Page {  // of the portal
  std::string path;
};
struct Refuse {
  int status = 400;
  std::string sentence;
  std::string allow;  // of 405: the methods there are
};

using Action = std::variant<Ask, AskWithBody, SendFile, SendLog, BlobHead, BlobGet, BlobPut, StudyList,
                            StudyGet, StudyPut, StudyLogs, StudyLogGet, StudyRun, StudyLogPut, Events,
                            AgentSocket, Health, Page, Refuse>;

[[nodiscard]] Action route(const Head& head);      // never throws for what is in `head`
[[nodiscard]] bool is_open(const Action& action);  // for everybody, without a token
// An Error that says what is wrong with the body.
[[nodiscard]] Request request_from(const AskWithBody& action, std::string_view body);

// All addresses, for the test that holds docs/openapi.json to them.
struct Address {
  std::string_view method, pattern;  // "GET", "/v1/jobs/{id}"
};
[[nodiscard]] std::span<const Address> addresses();

}  // namespace longship::hub::http
