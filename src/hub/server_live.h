// SPDX-License-Identifier: Apache-2.0
// What stays open: events to those who watch, frames to and from an agent. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "net/frame_stream.h"
#include "route.h"

namespace longship::hub::http {

inline constexpr auto heartbeat = 15s;
inline constexpr auto agent_silence = 30s;

inline awaitable<void> send_events(Exchange& exchange, const Events& action) {
  const auto waiter = std::make_shared<Waiter>(exchange.stream.get_executor());
  auto cursor = exchange.shared->ring.find(action.last);
  web::response<web::empty_body> head(web::status::ok, 11);
  head.set(web::field::content_type, "text/event-stream");
  head.set(web::field::cache_control, "no-store");
  head.set("X-Accel-Buffering", "no");
  head.keep_alive(false);
  add_guards(head, exchange.stream.is_tls());
  web::response_serializer<web::empty_body> serializer(head);
  co_await web::async_write_header(exchange.stream, serializer, use_awaitable);
  exchange.keep_alive = false;
  if (exchange.is_head) co_return;
  co_await exchange.send_piece(": hello\n\n");
  while (true) {
    waiter->timer.expires_after(heartbeat);
    exchange.shared->watch(waiter);
    auto text = exchange.shared->ring.take(cursor);
    if (text.empty()) {
      error_code woken;
      co_await waiter->timer.async_wait(noting(woken));
      text = exchange.shared->ring.take(cursor);
      if (text.empty()) text = ": still here\n\n";
    }
    if (!exchange.shared->hub.knows(exchange.caller)) co_return;  // its token was revoked meanwhile
    co_await exchange.send_piece(text);
  }
}

inline awaitable<void> serve_agent(Exchange& exchange, HeadParser& parser) {
  const auto request = parser.release();
  if (!websocket::is_upgrade(request)) {
    auto reply = refusal(426, "agents speak WebSocket here");
    reply.headers = {{"Upgrade", "websocket"}};
    co_await exchange.send(std::move(reply));
    co_return;
  }
  exchange.keep_alive = false;
  exchange.tcp_stream().expires_never();
  exchange.moved = true;
  auto socket = std::make_shared<websocket::stream<AnyStream>>(std::move(exchange.stream));
  socket->set_option(websocket::stream_base::timeout{20s, agent_silence, true});
  socket->read_message_max(net::largest_frame);
  socket->binary(true);
  socket->auto_fragment(false);
  co_await socket->async_accept(request, use_awaitable);
  const auto outbox = std::make_shared<Outbox>(socket->get_executor());
  const Linked linked{exchange.shared->hub,
                      exchange.shared->hub.connect(
                          exchange.caller, std::make_shared<SocketLink>(outbox, exchange.shared->gate))};
  asio::co_spawn(
      socket->get_executor(), [socket, outbox] { return outbox->write(*socket); }, [](std::exception_ptr) {});
  error_code problem;
  beast::flat_buffer frame;
  while (true) {
    co_await socket->async_read(frame, noting(problem));
    if (problem) break;
    const auto* bytes = static_cast<const char*>(frame.data().data());
    exchange.shared->hub.receive(linked.id, std::string(bytes, frame.size()));
    frame.consume(frame.size());
  }
  outbox->close();
}

}  // namespace longship::hub::http
