// SPDX-License-Identifier: Apache-2.0
// A TCP connection, with or without TLS, as one type. What is built on it is compiled once, and what it is
// built of is compiled in any_stream.cpp: handlers are handed over without their types. Boost's own headers
// come with it: only for the .cpp files that talk HTTP or WebSocket themselves.
#pragma once
#include <utility>  // before Boost 1.74's coroutines, which forget it

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <functional>
#include <memory>
#include <string>

namespace longship::net {

namespace asio = boost::asio;
namespace beast = boost::beast;

// For co_await: what went wrong goes into `problem` instead of being thrown.
inline auto noting(boost::system::error_code& problem) {
  return asio::redirect_error(asio::use_awaitable, problem);
}

// All handlers run on the executor of the stream, which is a strand or has one thread.
class AnyStream {
 public:
  using Tcp = beast::tcp_stream;
  using executor_type = Tcp::executor_type;
  using next_layer_type = Tcp;
  using Moved = std::function<void(boost::system::error_code, std::size_t)>;
  using Done = std::function<void(boost::system::error_code)>;

  explicit AnyStream(asio::ip::tcp::socket socket);
  explicit AnyStream(executor_type executor);
  AnyStream(AnyStream&&) noexcept;
  AnyStream& operator=(AnyStream&&) noexcept;
  ~AnyStream();

  // From now on through TLS. A client names the host, whose certificate is checked.
  void use_tls(asio::ssl::context& context, const std::string& host = {});
  [[nodiscard]] bool is_tls() const;
  void start_handshake(bool as_server, Done done);
  void start_shutdown(Done done);  // of TLS

  executor_type get_executor() { return tcp_->get_executor(); }
  Tcp& next_layer() { return *tcp_; }
  const Tcp& next_layer() const { return *tcp_; }

  template <class Token>
  auto async_handshake(bool as_server, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code)>(
        [this, as_server](auto handler) { start_handshake(as_server, erased<Done>(std::move(handler))); },
        token);
  }
  template <class Token>
  auto async_shutdown(Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { start_shutdown(erased<Done>(std::move(handler))); }, token);
  }
  // Only the first buffer that is not empty: those who want more ask again.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& wanted) {
          asio::mutable_buffer first;
          for (auto at = asio::buffer_sequence_begin(wanted); at != asio::buffer_sequence_end(wanted); ++at)
            if (first.size() == 0) first = *at;
          read_some(first, erased<Moved>(std::move(handler)));
        },
        token, buffers);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& given) {
          Gathered some{};
          std::size_t count = 0;
          for (auto at = asio::buffer_sequence_begin(given); at != asio::buffer_sequence_end(given); ++at)
            if (count < some.size() && asio::const_buffer(*at).size() > 0) some[count++] = *at;
          write_some(some, erased<Moved>(std::move(handler)));
        },
        token, buffers);
  }

 private:
  using Gathered = std::array<asio::const_buffer, 32>;  // a head with its body, mostly
  void read_some(asio::mutable_buffer buffer, Moved done);
  void write_some(const Gathered& buffers, Moved done);

  // std::function wants to copy, handlers only move.
  template <class Function, class Handler>
  static Function erased(Handler handler) {
    return [kept = std::make_shared<Handler>(std::move(handler))](auto... results) {
      std::move (*kept)(results...);
    };
  }

  struct Tls;
  std::unique_ptr<Tcp> tcp_;  // in one place, as tls_ refers to it
  std::unique_ptr<Tls> tls_;
};

// What Beast's WebSocket does at the end of a connection; found by its argument's namespace.
template <class Handler>
void async_teardown(beast::role_type, AnyStream& stream, Handler&& handler) {
  boost::system::error_code ignored;
  stream.next_layer().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  asio::post(stream.get_executor(),
             [kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler))] {
               std::move (*kept)(boost::system::error_code());
             });
}
inline void teardown(beast::role_type, AnyStream& stream, boost::system::error_code& problem) {
  stream.next_layer().socket().shutdown(asio::ip::tcp::socket::shutdown_both, problem);
}

}  // namespace longship::net
