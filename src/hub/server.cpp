// SPDX-License-Identifier: Apache-2.0
// A coroutine per connection (server_connection.h), each on its own strand of a few threads.
#include "server_connection.h"  // first: Boost 1.74 wants to be

#include "server.h"

#include <unistd.h>

#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ssl.hpp>
#include <thread>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "net/address.h"

namespace longship::hub {
namespace {

using namespace http;
constexpr std::size_t most_connections = 4096;
constexpr int threads = 4;

awaitable<void> accept(std::shared_ptr<Shared> shared, tcp::acceptor& acceptor, asio::ssl::context* tls) {
  Timer pause(acceptor.get_executor());
  while (true) {
    error_code problem;
    tcp::socket socket(asio::make_strand(acceptor.get_executor()));
    co_await acceptor.async_accept(socket, noting(problem));
    if (problem == asio::error::operation_aborted) co_return;
    if (problem || shared->connections >= most_connections) {  // out of descriptors: others will end
      pause.expires_after(100ms);
      co_await pause.async_wait(noting(problem));
      continue;
    }
    const auto executor = socket.get_executor();
    const auto connection = std::make_shared<Connection>(shared, std::move(socket));
    asio::co_spawn(
        executor, [connection, tls] { return connection->run(tls); },
        [](std::exception_ptr why) {
          try {
            if (why) std::rethrow_exception(why);
          } catch (const std::exception& error) {
            explain("a connection ended: {}", Error::of(error).what());
          }
        });
  }
}

tcp::endpoint endpoint_of(const ServerOptions& options) {
  error_code problem;
  const auto word = options.address == "localhost" ? "127.0.0.1" : options.address;
  const auto address = asio::ip::make_address(word, problem);
  if (problem)
    throw Error(Failure::usage, "{} is not an address to listen at: expected 127.0.0.1 or the like",
                printable(options.address));
  if (options.certificate.empty() != options.key.empty())
    throw Error(Failure::usage, "TLS needs both a certificate and its key");
  if (!address.is_loopback() && options.certificate.empty())
    throw Error(Failure::usage,
                "{} can be reached from elsewhere, so that tokens would travel in the clear: give a "
                "certificate and its key (--tls-cert, --tls-key), or listen at 127.0.0.1",
                options.address);
  return {address, options.port};
}

// Where the loopback interface is down, as in a network namespace of one's own, one may well listen there:
// nobody comes. Connecting a datagram socket sends nothing, and only looks for a way.
void check_loopback(asio::io_context& io, const tcp::endpoint& endpoint) {
  if (!endpoint.address().is_loopback()) return;
  error_code problem;
  asio::ip::udp::socket socket(io);
  static_cast<void>(socket.connect({endpoint.address(), 9}, problem));
  if (problem == asio::error::network_unreachable)
    throw Error(
        Failure::impossible,
        "nobody could reach a hub at {}: the loopback interface is down; `ip link set lo up` brings it up",
        endpoint.address().to_string());
}

asio::ssl::context tls_context(const ServerOptions& options) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
  error_code problem;
  context.use_certificate_chain_file(options.certificate, problem);
  if (problem) throw Error("cannot use the certificate {}: {}", options.certificate, problem.message());
  context.use_private_key_file(options.key, asio::ssl::context::pem, problem);
  if (problem) throw Error("cannot use the key {}: {}", options.key, problem.message());
  return context;
}

std::vector<std::string> own_names(const ServerOptions& options) {
  auto names = options.names;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) names.emplace_back(name.data());
  return names;
}

}  // namespace

struct Server::Parts {
  Parts(Hub& hub, const ServerOptions& options)
      : shared(std::make_shared<Shared>(hub, options)), acceptor(io) {}

  std::shared_ptr<Shared> shared;
  std::optional<asio::ssl::context> tls;
  asio::io_context io;
  tcp::acceptor acceptor;
  std::uint64_t listener = 0;
  std::vector<std::thread> workers;
};

Server::Server(Hub& hub, const ServerOptions& options) : parts_(std::make_unique<Parts>(hub, options)) {
  const auto endpoint = endpoint_of(options);
  check_loopback(parts_->io, endpoint);
  if (!options.certificate.empty()) parts_->tls.emplace(tls_context(options));
  auto& acceptor = parts_->acceptor;
  error_code problem;
  acceptor.open(endpoint.protocol(), problem);
  if (!problem) acceptor.set_option(asio::socket_base::reuse_address(true), problem);
  if (!problem) acceptor.bind(endpoint, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem == asio::error::address_in_use)
    throw Error("port {} is taken by another program: choose another one, or 0 for any that is free",
                options.port);
  if (problem) throw Error("cannot listen at {}:{}: {}", options.address, options.port, problem.message());

  auto& shared = parts_->shared;
  shared->names = own_names(options);
  parts_->listener = hub.listen([events = shared.get()](std::string_view kind, std::string_view json) {
    events->happened(kind, json);
  });
  auto* tls = parts_->tls ? &*parts_->tls : nullptr;
  asio::co_spawn(parts_->io, accept(shared, acceptor, tls), [](std::exception_ptr) {});
  for (int i = 0; i < threads; ++i) parts_->workers.emplace_back([io = &parts_->io] { io->run(); });
}

Server::~Server() {
  parts_->shared->hub.unlisten(parts_->listener);
  parts_->shared->gate->close();
  parts_->io.stop();
  for (auto& worker : parts_->workers) worker.join();
}

std::uint16_t Server::port() const {
  return parts_->acceptor.local_endpoint().port();
}

std::string Server::url() const {
  const auto& options = parts_->shared->options;
  const net::Address address{
      .tls = parts_->tls.has_value(), .host = options.address, .port = std::to_string(port())};
  return fmt::format("{}://{}", address.tls ? "https" : "http", address.authority());
}

}  // namespace longship::hub
