// SPDX-License-Identifier: Apache-2.0
#include "any_stream.h"

#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace longship::net {

struct AnyStream::Tls {
  Tls(Tcp& tcp, asio::ssl::context& context) : stream(tcp, context) {}
  beast::ssl_stream<Tcp&> stream;
};

AnyStream::AnyStream(asio::ip::tcp::socket socket) : tcp_(std::make_unique<Tcp>(std::move(socket))) {}
AnyStream::AnyStream(executor_type executor) : tcp_(std::make_unique<Tcp>(std::move(executor))) {}
AnyStream::AnyStream(AnyStream&&) noexcept = default;
AnyStream& AnyStream::operator=(AnyStream&&) noexcept = default;
AnyStream::~AnyStream() = default;

void AnyStream::use_tls(asio::ssl::context& context, const std::string& host) {
  tls_ = std::make_unique<Tls>(*tcp_, context);
  if (host.empty()) return;
  tls_->stream.set_verify_callback(asio::ssl::host_name_verification(host));
  SSL_set_tlsext_host_name(tls_->stream.native_handle(), host.c_str());
}

bool AnyStream::is_tls() const {
  return tls_ != nullptr;
}

void AnyStream::start_handshake(bool as_server, Done done) {
  const auto role = as_server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  tls_->stream.async_handshake(role, std::move(done));
}

void AnyStream::start_shutdown(Done done) {
  tls_->stream.async_shutdown(std::move(done));
}

void AnyStream::read_some(asio::mutable_buffer buffer, Moved done) {
  if (tls_)
    tls_->stream.async_read_some(buffer, std::move(done));
  else
    tcp_->async_read_some(buffer, std::move(done));
}

void AnyStream::write_some(const Gathered& buffers, Moved done) {
  if (tls_)
    tls_->stream.async_write_some(buffers, std::move(done));
  else
    tcp_->async_write_some(buffers, std::move(done));
}

}  // namespace longship::net
