// SPDX-License-Identifier: Apache-2.0
// The server in front of a real hub, asked by our own client; tests/system/test_api.py asks it with others.
#include "hub/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/file.h"
#include "expect.h"
#include "formats/digest.h"
#include "formats/document.h"
#include "net/event_lines.h"
#include "net/frame_stream.h"
#include "net/http.h"

namespace longship::hub {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const std::string a_job = R"({"job":{"version":1,"name":"tiny","command":["true"]}})";

class ServerTest : public testing::Test {
 protected:
  ServerTest()
      : place("longship-server-test"),
        hub({place.path() / "hub", place.path() / "store"}),
        server(hub, options()),
        client(server.url(), {.token = hub.owner_token()}) {}

  static ServerOptions options() {
    ServerOptions chosen;
    chosen.port = 0;
    chosen.version = "9.9";
    return chosen;
  }

  net::Answer get(const std::string& path) { return client.perform({.path = path}); }
  net::Answer post(const std::string& path, std::string_view body, const std::string& key = "") {
    net::Call call{.method = "POST", .path = path, .body = body};
    if (!key.empty()) call.headers = {{"Idempotency-Key", key}};
    return client.perform(call);
  }
  net::Answer put(const std::string& digest, std::string_view bytes, const std::string& range = "") {
    net::Call call{.method = "PUT", .path = "/v1/blobs/" + digest, .body = bytes};
    if (!range.empty()) call.headers = {{"Content-Range", range}};
    return client.perform(call);
  }
  // As typed on the wire.
  std::string raw(std::string_view request) {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    write_all(socket.get(), request);
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(socket.get(), buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
    return answer;
  }

  TemporaryDirectory place;
  Hub hub;
  Server server;
  net::HttpClient client;
};

TEST_F(ServerTest, HealthNeedsNoToken) {
  net::HttpClient stranger(server.url(), {});
  const auto answer = stranger.perform({.path = "/v1/health"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"status":"ok","version":"9.9","jobs":0})");
}

TEST_F(ServerTest, EverythingElseNeedsOne) {
  net::HttpClient nobody(server.url(), {}), stranger(server.url(), {.token = "stranger"});
  EXPECT_EQ(nobody.perform({.path = "/v1/jobs"}).status, 401);
  const auto answer = stranger.perform({.path = "/v1/jobs"});
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body, R"({"error":"this token is not known here"})");
  EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
  EXPECT_EQ(stranger.perform({.method = "POST", .path = "/v1/jobs", .body = a_job}).status, 401);
}

TEST_F(ServerTest, ASubmissionWithTheSameKeyIsTheSameJob) {
  const auto first = post("/v1/jobs", a_job, "key"), second = post("/v1/jobs", a_job, "key");
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.body, R"({"jobs":["tiny-1"]})");
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(post("/v1/jobs", a_job).body, R"({"jobs":["tiny-2"]})");
  EXPECT_EQ(formats::parse_json(get("/v1/jobs").body, "").find("total")->integer(), 2);
  EXPECT_EQ(get("/v1/jobs/tiny-1").status, 200);
  EXPECT_EQ(get("/v1/jobs/tiny-9").status, 404);
}

TEST_F(ServerTest, WrongBodiesAre400WithASentence) {
  EXPECT_EQ(post("/v1/jobs", "{").status, 400);
  EXPECT_EQ(post("/v1/jobs", "").status, 400);
  const auto answer = post("/v1/jobs", R"({"job":{"version":1,"name":"tiny","comand":["true"]}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("did you mean"));
}

TEST_F(ServerTest, AJobFileThatIsTooLargeIs413) {
  const std::string large(10 << 20, 'x');
  const auto answer = post("/v1/jobs", large);
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("larger than 1024 KiB"));
  EXPECT_EQ(get("/v1/jobs").status, 200);  // it goes on
}

TEST_F(ServerTest, AConnectionIsUsedAgain) {
  const auto request = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const auto last = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const auto answers = raw(std::string(request) + request + last);  // all at once
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '{'), 3) << answers;
}

TEST_F(ServerTest, WhatTheHubsOwnFilesPreventIsAnsweredWithASentence) {
  remove_tree(place.path() / "hub" / "studies");
  const auto answer = get("/v1/studies");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("studies: No such file or directory"));
  EXPECT_EQ(get("/v1/jobs").status, 200);
}

TEST_F(ServerTest, WhatIsNoHttpIs400) {
  EXPECT_THAT(raw("hello\r\n\r\n"), HasSubstr("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"),
              HasSubstr(" 400 "));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), HasSubstr(" 400 "));
}

TEST_F(ServerTest, AnotherHostsNameIsRefused) {
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
              HasSubstr("evil.example is not a name of this hub"));
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n"), HasSubstr(" 421 "));
  EXPECT_THAT(raw("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: "
                  "close\r\n\r\n"),
              HasSubstr(" 403 "));
}

TEST_F(ServerTest, EveryAnswerIsGuarded) {
  const auto answer = get("/v1/jobs");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("x-frame-options"), "DENY");
  EXPECT_EQ(answer.header("referrer-policy"), "no-referrer");
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  EXPECT_EQ(answer.header("access-control-allow-origin"), "");
  EXPECT_THAT(answer.header("content-security-policy"), HasSubstr("default-src 'none'"));
}

TEST_F(ServerTest, ABlobIsUploadedInPieces) {
  const std::string bytes(3 << 20, 'b');
  const auto digest = formats::digest_of(bytes);
  const auto path = "/v1/blobs/" + digest;
  EXPECT_EQ(client.perform({.method = "HEAD", .path = path}).status, 404);
  const auto size = std::to_string(bytes.size());
  auto answer = put(digest, std::string_view(bytes).substr(0, 100), "bytes 0-99/" + size);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(client.perform({.method = "HEAD", .path = path}).number("x-longship-uploaded"), 100u);
  answer = put(digest, std::string_view(bytes).substr(0, 100), "bytes 0-99/" + size);
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.number("x-longship-uploaded"), 100u);
  EXPECT_THAT(answer.body, HasSubstr("stands at byte 100"));
  answer = put(digest, std::string_view(bytes).substr(100),
               "bytes 100-" + std::to_string(bytes.size() - 1) + "/" + size);
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(get(path).body, bytes);
  EXPECT_EQ(client.perform({.method = "HEAD", .path = path}).header("content-length"), size);
  EXPECT_EQ(put(digest, bytes).status, 200);  // again: it is there
}

TEST_F(ServerTest, PartsOfABlobAreRead) {
  const std::string bytes = "0123456789";
  const auto digest = formats::digest_of(bytes);
  ASSERT_EQ(put(digest, bytes).status, 201);
  const auto part = [&](const std::string& range) {
    return client.perform({.path = "/v1/blobs/" + digest, .headers = {{"Range", range}}});
  };
  EXPECT_EQ(part("bytes=2-4").status, 206);
  EXPECT_EQ(part("bytes=2-4").body, "234");
  EXPECT_EQ(part("bytes=2-4").header("content-range"), "bytes 2-4/10");
  EXPECT_EQ(part("bytes=-3").body, "789");
  EXPECT_EQ(part("bytes=10-").status, 416);
  EXPECT_EQ(part("bytes=10-").header("content-range"), "bytes */10");
  EXPECT_EQ(part("nonsense").body, bytes);
}

TEST_F(ServerTest, AWrongDigestIsThrownAway) {
  const auto digest = formats::digest_of("right");
  const auto answer = put(digest, "wrong");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("digest"));
  const auto head = client.perform({.method = "HEAD", .path = "/v1/blobs/" + digest});
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.number("x-longship-uploaded"), 0u);
  EXPECT_EQ(put(digest, "right").status, 201);
}

TEST_F(ServerTest, EventsComeAsTheyHappen) {
  std::vector<net::ServerEvent> seen;
  std::promise<void> connected;
  std::atomic<bool> enough = false;
  std::string last;
  const auto watch = [&](std::size_t wanted, const std::string& from, bool tell) {
    net::HttpClient watcher(server.url(), {.token = hub.owner_token()});
    net::EventLines lines([&](const net::ServerEvent& event) {
      seen.push_back(event);
      if (seen.size() >= wanted) enough = true;
    });
    net::Call call{.path = "/v1/events"};
    if (!from.empty()) call.headers = {{"Last-Event-ID", from}};
    call.sink = [&](std::string_view bytes) {
      if (tell && bytes.starts_with(": hello")) connected.set_value();
      lines.add(bytes);
    };
    call.go_on = [&] { return !enough; };
    watcher.perform(call);
  };
  std::thread thread([&] { watch(1, "", true); });
  connected.get_future().wait();
  post("/v1/jobs", a_job);
  thread.join();
  ASSERT_GE(seen.size(), 1u);
  EXPECT_EQ(seen[0].kind, "job");
  EXPECT_THAT(seen[0].data, HasSubstr("tiny-1"));
  last = seen[0].id;
  // What happened while nobody watched comes first.
  post("/v1/jobs", a_job);
  seen.clear();
  enough = false;
  watch(1, last, false);
  EXPECT_EQ(seen[0].kind, "job");
  // Another start of the hub's: look anew.
  seen.clear();
  enough = false;
  watch(1, "1-1", false);
  EXPECT_EQ(seen[0].kind, "reset");
}

TEST_F(ServerTest, ARevokedTokenEndsItsEventStreamBeforeTheNextEvent) {
  const auto made = formats::parse_json(post("/v1/tokens", R"({"user":"bob"})").body, "");
  const net::HttpClient::Options bob{.token = made.find("token")->text()};
  std::promise<void> connected;
  std::string seen;
  std::thread watcher([&] {
    net::HttpClient http(server.url(), bob);
    http.perform({.path = "/v1/events", .sink = [&](std::string_view bytes) {
                    if (seen.empty()) connected.set_value();
                    seen += bytes;
                  }});
  });
  connected.get_future().wait();
  const auto id = made.find("id")->text();
  EXPECT_EQ(client.perform({.method = "DELETE", .path = "/v1/tokens/" + id}).status, 200);
  post("/v1/jobs", a_job);
  watcher.join();
  EXPECT_THAT(seen, Not(HasSubstr("tiny")));
  const auto refused = net::HttpClient(server.url(), bob).perform({.path = "/v1/jobs"});
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body, R"({"error":"this token is not known here"})");
}

TEST_F(ServerTest, AnAgentSpeaksOverAWebSocket) {
  const auto stream = net::connect_websocket(server.url() + "/v1/agent", hub.owner_token());
  message::Hello hello;
  hello.version = "1";
  hello.site = "here";
  hello.site_file =
      "version = 1\nname = \"here\"\nbatch = \"local\"\nspool = \"/tmp/spool\"\n[node]\narch = "
      "\"x86_64\"\ncores = 2\n[[queue]]\nname = \"all\"\n";
  hello.outbox = "o1";
  stream->send(message::encode(message::FromAgent(hello)));
  const auto frame = stream->receive(20s);
  ASSERT_TRUE(frame.has_value()) << stream->ended_because();
  const auto answer = message::decode_from_hub(*frame);
  ASSERT_TRUE(std::holds_alternative<message::Welcome>(answer))
      << (std::holds_alternative<message::Goodbye>(answer) ? std::get<message::Goodbye>(answer).reason : "");
  EXPECT_THAT(get("/v1/sites").body, HasSubstr("\"here\""));
  stream->close();
}

TEST_F(ServerTest, AnAgentsTokenIsForNothingElse) {
  const auto added = post("/v1/sites", R"({"site":"far"})");
  ASSERT_EQ(added.status, 201) << added.body;
  const auto token = formats::parse_json(added.body, "").find("token")->text();
  net::HttpClient agent(server.url(), {.token = token});
  const auto answer = agent.perform({.path = "/v1/jobs"});
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("for the agent of site far only"));
  EXPECT_EQ(agent.perform({.path = "/v1/agent"}).status, 426);
}

TEST_F(ServerTest, AStrangersWebSocketIsRefused) {
  EXPECT_THAT(
      message_of([&] { static_cast<void>(net::connect_websocket(server.url() + "/v1/agent", "stranger")); }),
      HasSubstr("it does not accept our token"));
}

TEST_F(ServerTest, FilesOfAJobThatNeverRanAreNotThere) {
  post("/v1/jobs", a_job);
  const auto answer = get("/v1/jobs/tiny-1/log");
  EXPECT_GE(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("error"));
  EXPECT_EQ(get("/v1/jobs/tiny-1/files/..%2f..%2fhub.db").status, 400);
}

TEST_F(ServerTest, TheServerEndsWhileSomebodyWatches) {
  Hub other({place.path() / "other", place.path() / "store"});
  auto second = std::make_unique<Server>(other, options());
  std::promise<void> connected;
  std::thread watcher([&, url = second->url(), token = other.owner_token()] {
    net::HttpClient http(url, {.token = token});
    bool told = false;
    try {
      http.perform({.path = "/v1/events", .sink = [&](std::string_view) {
                      if (!std::exchange(told, true)) connected.set_value();
                    }});
    } catch (const net::Unreachable&) {
    }
  });
  connected.get_future().wait();
  const auto agent = net::connect_websocket(second->url() + "/v1/agent", other.owner_token());
  second.reset();
  watcher.join();
  EXPECT_EQ(agent->receive(20s), std::nullopt);
  EXPECT_FALSE(agent->open());
}

TEST(ServerOptionsTest, OtherAddressesNeedTls) {
  const TemporaryDirectory place;
  Hub hub({place.path() / "hub", place.path() / "store"});
  ServerOptions open;
  open.address = "0.0.0.0";
  EXPECT_THAT(message_of([&] { Server(hub, open); }), HasSubstr("tokens would travel in the clear"));
  ServerOptions half;
  half.certificate = "x.pem";
  EXPECT_THAT(message_of([&] { Server(hub, half); }), HasSubstr("both a certificate and its key"));
  ServerOptions wrong;
  wrong.address = "nowhere";
  EXPECT_THAT(message_of([&] { Server(hub, wrong); }), HasSubstr("is not an address to listen at"));
  ServerOptions missing;
  missing.certificate = missing.key = (place.path() / "none.pem").string();
  EXPECT_THAT(message_of([&] { Server(hub, missing); }), HasSubstr("cannot use the certificate"));
}

TEST(ServerOptionsTest, APortThatIsTakenIsSaid) {
  const TemporaryDirectory place;
  Hub hub({place.path() / "hub", place.path() / "store"});
  ServerOptions options;
  options.port = 0;
  const Server first(hub, options);
  options.port = first.port();
  EXPECT_THAT(message_of([&] { Server(hub, options); }), HasSubstr("is taken by another program"));
}

}  // namespace
}  // namespace longship::hub
