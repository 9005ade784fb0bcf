// SPDX-License-Identifier: Apache-2.0
// Blobs in and out, by the piece. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "route.h"

namespace longship::hub::http {

inline awaitable<void> blob_head(Exchange& exchange, const std::string& digest) {
  Reply reply;
  if (const auto size = exchange.shared->hub.blob_size(digest)) {
    reply.type = "application/octet-stream";
    reply.length = *size;
    reply.headers = {{"X-Longship-Uploaded", std::to_string(*size)}, {"Accept-Ranges", "bytes"}};
  } else {
    reply = refusal(404, "there is no such blob");
    reply.headers = {{"X-Longship-Uploaded", std::to_string(exchange.shared->hub.uploaded(digest))}};
  }
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> blob_get(Exchange& exchange, const BlobGet& action) {
  const auto size = exchange.shared->hub.blob_size(action.digest);
  if (!size) {
    co_await exchange.send(refusal(404, fmt::format("there is no blob {}", action.digest)));
    co_return;
  }
  const auto part = action.range ? part_of(*action.range, *size) : std::optional(Part{0, *size});
  const Headers none;
  if (!co_await exchange.begin_part(part, *size, action.range.has_value(), none)) co_return;
  for (std::uint64_t done = 0; done < part->length;) {
    const auto bytes = exchange.shared->hub.read_blob(action.digest, part->offset + done,
                                                      std::min<std::uint64_t>(piece, part->length - done));
    if (bytes.empty()) throw Error("blob {} ends early", action.digest);
    co_await exchange.send_piece(bytes);
    done += bytes.size();
  }
}

inline Reply uploaded(int status, std::uint64_t size) {
  return {.status = status,
          .body = fmt::format("{{\"uploaded\":{}}}", size),
          .headers = {{"X-Longship-Uploaded", std::to_string(size)}}};
}
inline Reply wrong_offset(std::uint64_t there) {
  auto reply = refusal(409, fmt::format("the upload stands at byte {}: go on from there", there));
  reply.headers = {{"X-Longship-Uploaded", std::to_string(there)}};
  return reply;
}

inline awaitable<void> receive_blob(Exchange& exchange, const std::string& digest, const Part& part,
                                    std::uint64_t size, HeadParser& head) {
  web::request_parser<web::buffer_body> parser(std::move(head));
  parser.body_limit(part.length);
  std::string bytes(std::min<std::uint64_t>(piece, part.length), '\0');
  std::uint64_t stands = part.offset;
  int status = 400;
  std::string wrong;
  while (!parser.is_done() && wrong.empty()) {
    auto& body = parser.get().body();
    body.data = bytes.data();
    body.size = bytes.size();
    body.more = true;
    exchange.tcp_stream().expires_after(transfer_limit);
    error_code problem;
    co_await web::async_read(exchange.stream, exchange.buffer, parser, noting(problem));
    if (problem && problem != web::error::need_buffer) throw boost::system::system_error(problem);
    const std::string_view got(bytes.data(), bytes.size() - body.size);
    try {
      if (!got.empty()) stands = exchange.shared->hub.upload(digest, stands, size, got);
    } catch (const Error& error) {
      wrong = error.what();
      status = error.failure() == Failure::usage ? 400 : std::max(503, status_of(error));
    }
  }
  exchange.body_left = !parser.is_done();
  auto reply = wrong.empty() ? uploaded(exchange.shared->hub.has_blob(digest) ? 201 : 200, stands)
                             : refusal(status, wrong);
  // Somebody else uploads it too, or an earlier connection's bytes have just arrived.
  const auto there = wrong.empty() ? stands : exchange.shared->hub.uploaded(digest);
  if (there != 0 && there != stands) reply = wrong_offset(there);
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> blob_put(Exchange& exchange, const BlobPut& action, HeadParser& head) {
  const auto length = head.content_length();
  const auto part = action.range ? action.range->part : Part{0, length.value_or(0)};
  const auto size = action.range ? action.range->size : part.length;
  if (!length || *length == 0 || *length != part.length) {
    auto reply = length ? refusal(400, "Content-Range and Content-Length do not agree, or the blob is empty")
                        : refusal(411, "a blob needs its Content-Length");
    co_await exchange.send(std::move(reply));
    co_return;
  }
  const auto there =
      exchange.shared->hub.has_blob(action.digest) ? size : exchange.shared->hub.uploaded(action.digest);
  if (there != part.offset) {
    const bool complete = exchange.shared->hub.has_blob(action.digest);
    auto reply = complete ? uploaded(200, there) : wrong_offset(there);
    co_await exchange.send(std::move(reply));
    co_return;
  }
  co_await exchange.expect(head.get());
  co_await receive_blob(exchange, action.digest, part, size, head);
}

}  // namespace longship::hub::http
