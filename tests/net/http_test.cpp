// SPDX-License-Identifier: Apache-2.0
// Against a server that says what the test wants; the real one is in tests/hub/server_test.cpp.
#include "net/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "expect.h"
#include "net/frame_stream.h"

namespace longship::net {
namespace {

using namespace std::chrono_literals;

// Takes one connection, reads until the head (and `body` bytes) came, answers, closes.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer, std::size_t body = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 1), 0);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer, body] { serve(answer, body); });
  }
  ~OneAnswer() { thread_.join(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string asked;

 private:
  void serve(const std::string& answer, std::size_t body) {
    const Fd connection(::accept(socket_.get(), nullptr, nullptr));
    char buffer[4096];
    while (true) {
      const auto head = asked.find("\r\n\r\n");
      if (head != std::string::npos && asked.size() >= head + 4 + body) break;
      const auto got = ::read(connection.get(), buffer, sizeof buffer);
      if (got <= 0) return;
      asked.append(buffer, static_cast<std::size_t>(got));
    }
    write_all(connection.get(), answer);
  }
  Fd socket_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(HttpTest, TheAnswerHasStatusHeadersAndBody) {
  OneAnswer server(
      "HTTP/1.1 404 Not Found\r\nX-Longship-Size: 12\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone");
  HttpClient client(server.url(), {.token = "secret"});
  const auto answer = client.perform({.path = "/v1/x"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_FALSE(answer.ok());
  EXPECT_EQ(answer.body, "gone");
  EXPECT_EQ(answer.number("x-longship-size"), 12u);
  EXPECT_EQ(answer.number("connection"), 0u);
  EXPECT_NE(server.asked.find("GET /v1/x HTTP/1.1\r\n"), std::string::npos);
  EXPECT_NE(server.asked.find("Authorization: Bearer secret\r\n"), std::string::npos);
}

TEST(HttpTest, AHeadWithoutAnEndIsAnError) {
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; head.size() < (std::size_t{300} << 10); ++i)
    head += "X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
  OneAnswer server(head);
  HttpClient client(server.url(), {});
  EXPECT_EQ(message_of([&] { client.perform({.path = "/x"}); }),
            "the answer to GET /x makes no sense: its head has no end");
}

TEST(HttpTest, ABodyIsSent) {
  OneAnswer server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 5);
  HttpClient client(server.url(), {});
  const auto answer =
      client.perform({.method = "POST", .path = "/", .body = "hello", .headers = {{"X-A", "b"}}});
  EXPECT_TRUE(answer.ok());
  EXPECT_TRUE(server.asked.starts_with("POST / HTTP/1.1\r\n")) << server.asked;
  EXPECT_NE(server.asked.find("X-A: b\r\n"), std::string::npos);
  EXPECT_TRUE(server.asked.ends_with("\r\n\r\nhello"));
}

TEST(HttpTest, OnlySuccessGoesToTheSink) {
  std::string got;
  {
    OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbytes");
    HttpClient client(server.url(), {});
    client.perform({.path = "/", .sink = [&](std::string_view bytes) { got += bytes; }});
  }
  EXPECT_EQ(got, "bytes");
  OneAnswer server("HTTP/1.1 500 Oh\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry");
  HttpClient client(server.url(), {});
  EXPECT_EQ(client.perform({.path = "/", .sink = [&](std::string_view bytes) { got += bytes; }}).body,
            "sorry");
  EXPECT_EQ(got, "bytes");
}

TEST(HttpTest, AnErrorInTheSinkComesOut) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbytes");
  HttpClient client(server.url(), {});
  EXPECT_EQ(message_of([&] {
              client.perform({.path = "/", .sink = [](std::string_view) { throw Error("disk full"); }});
            }),
            "disk full");
}

TEST(HttpTest, AnAnswerThatIsTooLargeIsAnError) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbytes");
  HttpClient client(server.url(), {.largest_body = 4});
  EXPECT_EQ(message_of([&] { client.perform({.path = "/x"}); }),
            "the answer to GET /x is larger than expected");
}

TEST(HttpTest, ABrokenConnectionIsUnreachable) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nbytes");
  HttpClient client(server.url(), {});
  EXPECT_THROW(client.perform({.path = "/"}), Unreachable);
}

TEST(HttpTest, AHeadThatIsCutShortIsNoAnswer) {
  for (const auto* cut :
       {"HTTP/1.1 201 Crea", "HTTP/1.1 201 Created\r\n", "HTTP/1.1 201 Created\r\nContent-Le",
        "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n"}) {
    OneAnswer server(cut);
    HttpClient client(server.url(), {});
    EXPECT_THROW(client.perform({.path = "/"}), Unreachable) << cut;
  }
}

TEST(HttpTest, WhoeverWaitsMayGiveUp) {
  OneAnswer server("", 100);  // waits for a body that never comes
  HttpClient client(server.url(), {});
  int asked = 0;
  const auto answer = client.perform({.path = "/", .go_on = [&] { return ++asked < 3; }});
  EXPECT_TRUE(answer.abandoned);
}

TEST(HttpTest, NobodyThereIsConnectionRefused) {
  HttpClient client("http://127.0.0.1:1", {});
  EXPECT_EQ(message_of([&] { client.perform({.path = "/"}); }), "connection refused");
}

TEST(WebSocketTest, NobodyThereIsSaid) {
  EXPECT_EQ(message_of([] { static_cast<void>(connect_websocket("ws://127.0.0.1:1/v1/agent", "t")); }),
            "cannot reach the hub at ws://127.0.0.1:1/v1/agent: Connection refused");
}

TEST(WebSocketTest, WhoIsToEndDoesNotWaitForAHubThatSaysNothing) {
  const Fd silent(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const auto url = "ws://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1/agent";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(message_of([&] { static_cast<void>(connect_websocket(url, "t", {}, stop.get_token())); }),
            "cannot reach the hub at " + url + ": we are to end before it answers");
}

TEST(WebSocketTest, AnAnswerThatIsNoWebSocketIsNamed) {
  OneAnswer server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(message_of([&] { static_cast<void>(connect_websocket(server.url() + "/x", "t")); }),
            "cannot reach the hub at " + server.url() + "/x: it answered 404 Not Found");
}

TEST(WebSocketTest, ATokenThatIsNotAcceptedIsNamed) {
  OneAnswer server("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(message_of([&] { static_cast<void>(connect_websocket(server.url() + "/x", "t")); }),
            "cannot reach the hub at " + server.url() + "/x: it does not accept our token");
}

}  // namespace
}  // namespace longship::net
