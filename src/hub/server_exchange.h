// SPDX-License-Identifier: Apache-2.0
// One side of a conversation: the stream, who speaks there, and how answers are sent. A part of server.cpp.
#pragma once
#include "server_shared.h"  // first: see there

#include <algorithm>
#include <array>

#include "http_range.h"
#include "server_reply.h"

namespace longship::hub::http {

using tcp = asio::ip::tcp;
using HeadParser = web::request_parser<web::empty_body>;

inline constexpr auto transfer_limit = 60s;  // for one piece of a body
inline constexpr auto hub_limit = 60s;
inline constexpr std::size_t piece = std::size_t{1} << 20;

struct Exchange {
  Exchange(std::shared_ptr<Shared> all, tcp::socket socket)
      : shared(std::move(all)), stream(std::move(socket)) {}

  const std::shared_ptr<Shared> shared;
  AnyStream stream;
  beast::flat_buffer buffer;
  Caller caller;
  bool keep_alive = true, is_head = false;
  bool body_left = false;  // of the request, unread
  bool answered = false;   // at least the head
  bool moved = false;      // the stream belongs to a WebSocket now

  AnyStream::Tcp& tcp_stream() { return stream.next_layer(); }

  awaitable<Response> ask(const Request& request) {
    const auto waiter = std::make_shared<Waiter>(stream.get_executor());
    waiter->timer.expires_after(hub_limit);
    shared->hub.perform(caller, request,
                        [weak = std::weak_ptr(waiter), gate = shared->gate](Response response) {
                          gate->post(weak, [answered = std::move(response)](Waiter& waiting) mutable {
                            waiting.response = std::move(answered);
                            waiting.timer.cancel();
                          });
                        });
    error_code woken;
    co_await waiter->timer.async_wait(noting(woken));
    if (!waiter->response) co_return failure(503, "the hub did not answer within a minute: try again");
    co_return std::move(*waiter->response);
  }

  awaitable<void> expect(const web::request<web::empty_body>& head) {
    if (!beast::iequals(head[web::field::expect], "100-continue")) co_return;
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream, asio::buffer(go_on), use_awaitable);
  }

  // The head of an answer with a part of something. False: there is no more to send.
  awaitable<bool> begin_part(const std::optional<Part>& part, std::uint64_t size, bool partial,
                             const Headers& headers) {
    if (!part) {
      auto reply = refusal(416, fmt::format("there are only {} bytes", size));
      reply.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
      co_await send(std::move(reply));
      co_return false;
    }
    Reply reply{.type = "application/octet-stream", .headers = headers, .length = part->length};
    reply.headers.emplace_back("Accept-Ranges", "bytes");
    if (partial) {
      reply.status = 206;
      reply.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", part->offset,
                                                              part->offset + part->length - 1, size));
    }
    co_await send(std::move(reply));
    co_return !is_head;
  }

  awaitable<void> send_piece(const std::string& bytes) {
    tcp_stream().expires_after(transfer_limit);
    co_await asio::async_write(stream, asio::buffer(bytes), use_awaitable);
  }

  // A whole answer, or the head of one whose body comes in pieces.
  awaitable<void> send(Reply reply) {
    if (body_left) keep_alive = false;
    answered = true;
    web::response<web::string_body> response(static_cast<web::status>(reply.status), 11);
    for (const auto& [name, value] : reply.headers) response.set(name, value);
    response.set(web::field::content_type, reply.type);
    add_guards(response.base(), stream.is_tls());
    response.keep_alive(keep_alive);
    response.content_length(reply.length.value_or(reply.body.size()));
    if (!is_head && !reply.length) response.body() = std::move(reply.body);
    web::response_serializer<web::string_body> serializer(response);
    tcp_stream().expires_after(transfer_limit);
    if (is_head || reply.length || reply.status == 304)
      co_await web::async_write_header(stream, serializer, use_awaitable);
    else
      co_await web::async_write(stream, serializer, use_awaitable);
  }

  // Says that no more comes, and reads what is still under way, so that the answer is not lost with it.
  awaitable<void> end() {
    if (moved) co_return;
    error_code problem;
    tcp_stream().expires_after(5s);
    if (stream.is_tls()) co_await stream.async_shutdown(noting(problem));
    tcp_stream().socket().shutdown(tcp::socket::shutdown_send, problem);
    std::array<char, 65536> ignored;
    problem = {};
    for (std::size_t bytes = 0; !problem && bytes < (std::size_t{64} << 20);)
      bytes += co_await tcp_stream().async_read_some(asio::buffer(ignored), noting(problem));
    tcp_stream().close();
  }
};

}  // namespace longship::hub::http
