// SPDX-License-Identifier: Apache-2.0
// One connection: reads a head, asks route() what is to be done, does it. What it waits for is the other side
// or the hub; blobs are read and written by the piece. A part of server.cpp.
//
// What is awaited has a name: with a conditional expression within co_await uploads were seen to crash (GCC
// 12).
#pragma once
#include "server_shared.h"  // first: see there

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "formats/document.h"
#include "http_guard.h"
#include "net/frame_stream.h"
#include "portal_files.h"
#include "route.h"
#include "server_reply.h"

namespace longship::hub::http {

using tcp = asio::ip::tcp;

inline constexpr auto idle_limit = 75s;      // between two requests of one connection
inline constexpr auto transfer_limit = 60s;  // for one piece of a body
inline constexpr auto hub_limit = 60s;
inline constexpr auto heartbeat = 15s;
inline constexpr auto agent_silence = 30s;
inline constexpr std::size_t piece = std::size_t{1} << 20;
inline constexpr std::size_t head_limit = std::size_t{32} << 10;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Shared> shared, tcp::socket socket)
      : shared_(std::move(shared)), stream_(std::move(socket)) {
    ++shared_->connections;
  }
  ~Connection() { --shared_->connections; }

  awaitable<void> run(asio::ssl::context* tls) {
    const auto self = shared_from_this();
    error_code problem;
    tcp_().socket().set_option(tcp::no_delay(true), problem);
    if (tls != nullptr) {
      tcp_().expires_after(transfer_limit);
      stream_.use_tls(*tls);
      co_await stream_.async_handshake(true, use_awaitable);
    }
    while (co_await request()) {
    }
    co_await end();
  }

 private:
  using HeadParser = web::request_parser<web::empty_body>;

  AnyStream::Tcp& tcp_() { return stream_.next_layer(); }

  // One request and its answer; false: the connection ends.
  awaitable<bool> request() {
    HeadParser parser;
    parser.header_limit(head_limit);
    parser.body_limit(std::uint64_t{1} << 60);  // each kind of body has its own
    error_code problem;
    tcp_().expires_after(idle_limit);
    co_await web::async_read_header(stream_, buffer_, parser, noting(problem));
    if (problem) {
      if (problem.category() == error_code(web::error::end_of_stream).category() &&
          problem != web::error::end_of_stream && problem != web::error::partial_message) {
        keep_alive_ = false;
        co_await send(refusal(400, "this is no HTTP request: " + problem.message()));
      }
      co_return false;
    }
    const auto& head = parser.get();
    keep_alive_ = head.keep_alive();
    is_head_ = head.method() == web::verb::head;
    body_left_ = has_body(head);
    const auto action = admitted(head);
    co_await perform(action, parser);
    if (body_left_) keep_alive_ = false;  // nobody read it, and it must not be taken for a request
    co_return keep_alive_;
  }

  static bool has_body(const web::request<web::empty_body>& head) {
    return head.chunked() ||
           (head.find(web::field::content_length) != head.end() && head[web::field::content_length] != "0");
  }

  // What is asked for, if it may be asked.
  Action admitted(const web::request<web::empty_body>& head) {
    const auto host = view(head[web::field::host]);
    if (!host_is_ours(host, shared_->names))
      return Refuse{421,
                    fmt::format("{} is not a name of this hub: start it with --name {} if it is",
                                printable(host), printable(host)),
                    {}};
    if (!origin_is_ours(view(head[web::field::origin]), host))
      return Refuse{403, "pages from elsewhere may not ask this hub", {}};
    auto action = route({.method = view(head.method_string()),
                         .target = view(head.target()),
                         .range = view(head[web::field::range]),
                         .content_range = view(head[web::field::content_range]),
                         .idempotency_key = view(head["Idempotency-Key"]),
                         .last_event_id = view(head["Last-Event-ID"])});
    if (is_open(action)) return action;
    const auto token = bearer(view(head[web::field::authorization]));
    const auto caller = token.empty() ? std::nullopt : shared_->hub.caller(token);
    if (!caller)
      return Refuse{
          401,
          token.empty() ? "a token is needed: Authorization: Bearer TOKEN" : "this token is not known here",
          {}};
    caller_ = *caller;
    if (!caller_.site.empty() && !std::holds_alternative<AgentSocket>(action))
      return Refuse{403, fmt::format("this token is for the agent of site {} only", caller_.site), {}};
    return action;
  }

  awaitable<void> perform(const Action& action, HeadParser& parser) {
    if (const auto* ask = std::get_if<Ask>(&action)) {
      co_await answer(ask->request);
    } else if (const auto* body = std::get_if<AskWithBody>(&action)) {
      co_await answer_body(*body, parser);
    } else if (const auto* file = std::get_if<SendFile>(&action)) {
      co_await send_file(*file);
    } else if (const auto* log = std::get_if<SendLog>(&action)) {
      co_await send_log(*log);
    } else if (const auto* head = std::get_if<BlobHead>(&action)) {
      co_await blob_head(head->digest);
    } else if (const auto* get = std::get_if<BlobGet>(&action)) {
      co_await blob_get(*get);
    } else if (const auto* put = std::get_if<BlobPut>(&action)) {
      co_await blob_put(*put, parser);
    } else if (const auto* events = std::get_if<Events>(&action)) {
      co_await send_events(*events);
    } else if (std::holds_alternative<AgentSocket>(action)) {
      co_await agent(parser);
    } else if (std::holds_alternative<Health>(action)) {
      co_await health();
    } else if (const auto* page = std::get_if<Page>(&action)) {
      co_await send_page(page->path, view(parser.get()[web::field::if_none_match]));
    } else if (const auto* refused = std::get_if<Refuse>(&action)) {
      auto reply = refusal(refused->status, refused->sentence);
      if (!refused->allow.empty()) reply.headers.emplace_back("Allow", refused->allow);
      if (refused->status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
      co_await send(std::move(reply));
    }
  }

  // --- the hub ---

  awaitable<Response> ask(const Request& request) {
    const auto waiter = std::make_shared<Waiter>(stream_.get_executor());
    waiter->timer.expires_after(hub_limit);
    shared_->hub.perform(caller_, request,
                         [weak = std::weak_ptr(waiter), gate = shared_->gate](Response response) {
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

  awaitable<void> answer(const Request& request) {
    auto response = co_await ask(request);
    co_await send(reply_of(std::move(response)));
  }

  awaitable<void> health() {
    caller_ = {};
    ListJobs list;
    list.limit = 1;
    const auto response = co_await ask(list);
    if (response.status != 200) {
      co_await send(refusal(503, "the hub does not answer"));
      co_return;
    }
    formats::Table table;
    table.set("status", "ok");
    table.set("version", shared_->options.version);
    const auto jobs = formats::parse_json(response.body, "the hub's answer");
    if (const auto* total = jobs.find("total")) table.set("jobs", *total);
    Reply reply;
    reply.body = formats::dump_json(table);
    co_await send(std::move(reply));
  }

  // --- bodies ---

  awaitable<void> expect(const web::request<web::empty_body>& head) {
    if (!beast::iequals(head[web::field::expect], "100-continue")) co_return;
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream_, asio::buffer(go_on), use_awaitable);
  }

  awaitable<void> answer_body(const AskWithBody& action, HeadParser& head) {
    const auto length = head.content_length();
    if (length && *length > action.limit) {
      co_await send(too_large(action.limit));
      co_return;
    }
    co_await expect(head.get());
    web::request_parser<web::string_body> parser(std::move(head));
    parser.body_limit(action.limit);
    tcp_().expires_after(transfer_limit);
    error_code problem;
    co_await web::async_read(stream_, buffer_, parser, noting(problem));
    if (problem == web::error::body_limit) {
      co_await send(too_large(action.limit));
      co_return;
    }
    if (problem) throw boost::system::system_error(problem);
    body_left_ = false;
    std::optional<Request> request;
    std::string wrong;
    try {
      request = request_from(action, parser.get().body());
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (request)
      co_await answer(*request);
    else
      co_await send(refusal(400, wrong));
  }

  static Reply too_large(std::size_t limit) {
    return refusal(
        413, fmt::format("the body is larger than {} KiB, which is the limit: code and data belong into the "
                         "bundle, not into the job file",
                         limit >> 10));
  }

  // --- files of attempts ---

  awaitable<void> send_log(const SendLog& action) {
    AskSite wanted = action.ask;
    wanted.offset =
        static_cast<std::uint64_t>(action.from);  // negative: from the end, which the hub understands
    auto response = co_await ask(wanted);
    const auto from = response.offset, size = response.size;
    auto reply = reply_of(std::move(response));
    if (reply.status == 200) {
      reply.type = "text/plain; charset=utf-8";
      reply.headers = {{"X-Longship-From", std::to_string(from)}, {"X-Longship-Size", std::to_string(size)}};
    }
    co_await send(std::move(reply));
  }

  awaitable<void> send_file(const SendFile& action) {
    AskSite wanted = action.ask;
    const auto whole = co_await ask(wanted);
    if (whole.status != 200) {
      co_await send(reply_of(whole));
      co_return;
    }
    const auto part = action.range ? part_of(*action.range, whole.size) : std::optional(Part{0, whole.size});
    const auto name = wanted.name.substr(wanted.name.rfind('/') + 1);
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](char c) { return c >= ' ' && c != '"' && c != '\\' && c < 127; });
    const Headers headers = {
        {"Content-Disposition", plain ? fmt::format("attachment; filename=\"{}\"", name) : "attachment"}};
    if (!co_await begin_part(part, whole.size, action.range.has_value(), headers)) co_return;
    for (std::uint64_t done = 0; done < part->length;) {
      wanted.offset = part->offset + done;
      wanted.length = std::min<std::uint64_t>(piece, part->length - done);
      const auto response = co_await ask(wanted);
      if (response.status != 200 || response.body.empty()) throw Error("the site does not answer any more");
      co_await send_piece(response.body);
      done += response.body.size();
    }
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
    co_return !is_head_;
  }

  awaitable<void> send_piece(const std::string& bytes) {
    tcp_().expires_after(transfer_limit);
    co_await asio::async_write(stream_, asio::buffer(bytes), use_awaitable);
  }

  // --- blobs ---

  awaitable<void> blob_head(const std::string& digest) {
    Reply reply;
    if (const auto size = shared_->hub.blob_size(digest)) {
      reply.type = "application/octet-stream";
      reply.length = *size;
      reply.headers = {{"X-Longship-Uploaded", std::to_string(*size)}, {"Accept-Ranges", "bytes"}};
    } else {
      reply = refusal(404, "there is no such blob");
      reply.headers = {{"X-Longship-Uploaded", std::to_string(shared_->hub.uploaded(digest))}};
    }
    co_await send(std::move(reply));
  }

  awaitable<void> blob_get(const BlobGet& action) {
    const auto size = shared_->hub.blob_size(action.digest);
    if (!size) {
      co_await send(refusal(404, fmt::format("there is no blob {}", action.digest)));
      co_return;
    }
    const auto part = action.range ? part_of(*action.range, *size) : std::optional(Part{0, *size});
    const Headers none;
    if (!co_await begin_part(part, *size, action.range.has_value(), none)) co_return;
    for (std::uint64_t done = 0; done < part->length;) {
      const auto bytes = shared_->hub.read_blob(action.digest, part->offset + done,
                                                std::min<std::uint64_t>(piece, part->length - done));
      if (bytes.empty()) throw Error("blob {} ends early", action.digest);
      co_await send_piece(bytes);
      done += bytes.size();
    }
  }

  awaitable<void> blob_put(const BlobPut& action, HeadParser& head) {
    const auto length = head.content_length();
    const auto part = action.range ? action.range->part : Part{0, length.value_or(0)};
    const auto size = action.range ? action.range->size : part.length;
    if (!length || *length == 0 || *length != part.length) {
      auto reply = length
                       ? refusal(400, "Content-Range and Content-Length do not agree, or the blob is empty")
                       : refusal(411, "a blob needs its Content-Length");
      co_await send(std::move(reply));
      co_return;
    }
    const auto there = shared_->hub.has_blob(action.digest) ? size : shared_->hub.uploaded(action.digest);
    if (there != part.offset) {
      const bool complete = shared_->hub.has_blob(action.digest);
      auto reply = complete ? uploaded(200, there) : wrong_offset(there);
      co_await send(std::move(reply));
      co_return;
    }
    co_await expect(head.get());
    co_await receive_blob(action.digest, part, size, head);
  }

  static Reply uploaded(int status, std::uint64_t size) {
    return {.status = status,
            .body = fmt::format("{{\"uploaded\":{}}}", size),
            .headers = {{"X-Longship-Uploaded", std::to_string(size)}}};
  }
  static Reply wrong_offset(std::uint64_t there) {
    auto reply = refusal(409, fmt::format("the upload stands at byte {}: go on from there", there));
    reply.headers = {{"X-Longship-Uploaded", std::to_string(there)}};
    return reply;
  }

  awaitable<void> receive_blob(const std::string& digest, const Part& part, std::uint64_t size,
                               HeadParser& head) {
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
      tcp_().expires_after(transfer_limit);
      error_code problem;
      co_await web::async_read(stream_, buffer_, parser, noting(problem));
      if (problem && problem != web::error::need_buffer) throw boost::system::system_error(problem);
      const std::string_view got(bytes.data(), bytes.size() - body.size);
      try {
        if (!got.empty()) stands = shared_->hub.upload(digest, stands, size, got);
      } catch (const Error& error) {
        wrong = error.what();
        status = error.failure() == Failure::usage ? 400 : 503;  // 503: the disk is full
      }
    }
    body_left_ = !parser.is_done();
    auto reply =
        wrong.empty() ? uploaded(shared_->hub.has_blob(digest) ? 201 : 200, stands) : refusal(status, wrong);
    // Somebody else uploads it too, or an earlier connection's bytes have just arrived.
    const auto there = wrong.empty() ? stands : shared_->hub.uploaded(digest);
    if (there != 0 && there != stands) reply = wrong_offset(there);
    co_await send(std::move(reply));
  }

  // --- live ---

  awaitable<void> send_events(const Events& action) {
    const auto waiter = std::make_shared<Waiter>(stream_.get_executor());
    auto cursor = shared_->ring.find(action.last);
    web::response<web::empty_body> head(web::status::ok, 11);
    head.set(web::field::content_type, "text/event-stream");
    head.set(web::field::cache_control, "no-store");
    head.set("X-Accel-Buffering", "no");
    head.keep_alive(false);
    add_guards(head, stream_.is_tls());
    web::response_serializer<web::empty_body> serializer(head);
    co_await web::async_write_header(stream_, serializer, use_awaitable);
    keep_alive_ = false;
    if (is_head_) co_return;
    co_await send_piece(": hello\n\n");
    while (true) {
      waiter->timer.expires_after(heartbeat);
      shared_->watch(waiter);
      auto text = shared_->ring.take(cursor);
      if (text.empty()) {
        error_code woken;
        co_await waiter->timer.async_wait(noting(woken));
        text = shared_->ring.take(cursor);
        if (text.empty()) text = ": still here\n\n";
      }
      co_await send_piece(text);
    }
  }

  awaitable<void> agent(HeadParser& parser) {
    const auto request = parser.release();
    if (!websocket::is_upgrade(request)) {
      auto reply = refusal(426, "agents speak WebSocket here");
      reply.headers = {{"Upgrade", "websocket"}};
      co_await send(std::move(reply));
      co_return;
    }
    keep_alive_ = false;
    tcp_().expires_never();
    moved_ = true;
    auto socket = std::make_shared<websocket::stream<AnyStream>>(std::move(stream_));
    socket->set_option(websocket::stream_base::timeout{20s, agent_silence, true});
    socket->read_message_max(net::largest_frame);
    socket->binary(true);
    socket->auto_fragment(false);
    co_await socket->async_accept(request, use_awaitable);
    const auto outbox = std::make_shared<Outbox>(socket->get_executor());
    const Linked linked{shared_->hub,
                        shared_->hub.connect(caller_, std::make_shared<SocketLink>(outbox, shared_->gate))};
    asio::co_spawn(
        socket->get_executor(), [socket, outbox] { return outbox->write(*socket); },
        [](std::exception_ptr) {});
    error_code problem;
    beast::flat_buffer frame;
    while (true) {
      co_await socket->async_read(frame, noting(problem));
      if (problem) break;
      const auto* bytes = static_cast<const char*>(frame.data().data());
      shared_->hub.receive(linked.id, std::string(bytes, frame.size()));
      frame.consume(frame.size());
    }
    outbox->close();
  }

  // --- the portal ---

  awaitable<void> send_page(const std::string& path, std::string_view known) {
    const auto files = portal_files();
    const auto find = [&](std::string_view name) {
      const auto found =
          std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == name; });
      return found == files.end() ? nullptr : &*found;
    };
    const auto* file = find(path);
    const bool has_ending = path.find('.', path.rfind('/')) != std::string::npos;
    if (file == nullptr && (!has_ending || path.starts_with("/jobs/"))) file = find("/index.html");
    if (file == nullptr) {
      auto missing =
          refusal(404, files.empty() ? "this hub was built without the portal" : "there is no such page");
      co_await send(std::move(missing));
      co_return;
    }
    Reply reply{.type = std::string(file->type)};
    const bool for_ever = file->path.starts_with("/assets/");
    reply.headers = {{"ETag", std::string(file->etag)},
                     {"Cache-Control", for_ever ? "public, max-age=31536000, immutable" : "no-cache"},
                     {"Content-Security-Policy", std::string(page_policy)}};
    if (known == file->etag) {
      reply.status = 304;
    } else {
      reply.headers.emplace_back("Content-Encoding", "gzip");
      reply.body.assign(reinterpret_cast<const char*>(file->gzip.data()), file->gzip.size());
    }
    co_await send(std::move(reply));
  }

  // --- writing ---

  // A whole answer, or the head of one whose body comes in pieces.
  awaitable<void> send(Reply reply) {
    if (body_left_) keep_alive_ = false;
    web::response<web::string_body> response(static_cast<web::status>(reply.status), 11);
    for (const auto& [name, value] : reply.headers) response.set(name, value);
    response.set(web::field::content_type, reply.type);
    add_guards(response.base(), stream_.is_tls());
    response.keep_alive(keep_alive_);
    response.content_length(reply.length.value_or(reply.body.size()));
    if (!is_head_ && !reply.length) response.body() = std::move(reply.body);
    web::response_serializer<web::string_body> serializer(response);
    tcp_().expires_after(transfer_limit);
    if (is_head_ || reply.length || reply.status == 304)
      co_await web::async_write_header(stream_, serializer, use_awaitable);
    else
      co_await web::async_write(stream_, serializer, use_awaitable);
  }

  // Says that no more comes, and reads what is still under way, so that the answer is not lost with it.
  awaitable<void> end() {
    if (moved_) co_return;
    error_code problem;
    tcp_().expires_after(5s);
    if (stream_.is_tls()) co_await stream_.async_shutdown(noting(problem));
    tcp_().socket().shutdown(tcp::socket::shutdown_send, problem);
    std::array<char, 65536> ignored;
    problem = {};
    for (std::size_t bytes = 0; !problem && bytes < (std::size_t{64} << 20);)
      bytes += co_await tcp_().async_read_some(asio::buffer(ignored), noting(problem));
    tcp_().close();
  }

  const std::shared_ptr<Shared> shared_;
  AnyStream stream_;
  beast::flat_buffer buffer_;
  Caller caller_;
  bool keep_alive_ = true, is_head_ = false, body_left_ = false;
  bool moved_ = false;  // the stream belongs to a WebSocket now
};

}  // namespace longship::hub::http
