// SPDX-License-Identifier: Apache-2.0
// One connection: reads a head, asks route() what is to be done, does it. What it waits for is the other side
// or the hub. A part of server.cpp.
//
// What is awaited has a name: with a conditional expression within co_await uploads were seen to crash (GCC
// 12).
#pragma once
#include "server_exchange.h"  // first: see there

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/document.h"
#include "http_guard.h"
#include "route.h"
#include "server_blobs.h"
#include "server_files.h"
#include "server_live.h"
#include "server_page.h"
#include "server_studies.h"

namespace longship::hub::http {

inline constexpr auto idle_limit = 75s;  // between two requests of one connection
inline constexpr std::size_t head_limit = std::size_t{32} << 10;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Shared> shared, tcp::socket socket)
      : exchange_(std::move(shared), std::move(socket)) {
    ++exchange_.shared->connections;
  }
  ~Connection() { --exchange_.shared->connections; }

  awaitable<void> run(asio::ssl::context* tls) {
    const auto self = shared_from_this();
    error_code problem;
    exchange_.tcp_stream().socket().set_option(tcp::no_delay(true), problem);
    if (tls != nullptr) {
      exchange_.tcp_stream().expires_after(transfer_limit);
      exchange_.stream.use_tls(*tls);
      co_await exchange_.stream.async_handshake(true, use_awaitable);
    }
    while (co_await request()) {
    }
    co_await exchange_.end();
  }

 private:
  // One request and its answer; false: the connection ends.
  awaitable<bool> request() {
    HeadParser parser;
    parser.header_limit(head_limit);
    parser.body_limit(std::uint64_t{1} << 60);  // each kind of body has its own
    error_code problem;
    exchange_.tcp_stream().expires_after(idle_limit);
    co_await web::async_read_header(exchange_.stream, exchange_.buffer, parser, noting(problem));
    if (problem) {
      if (problem.category() == error_code(web::error::end_of_stream).category() &&
          problem != web::error::end_of_stream && problem != web::error::partial_message) {
        exchange_.keep_alive = false;
        co_await exchange_.send(refusal(400, "this is no HTTP request: " + problem.message()));
      }
      co_return false;
    }
    const auto& head = parser.get();
    exchange_.keep_alive = head.keep_alive();
    exchange_.is_head = head.method() == web::verb::head;
    exchange_.body_left = has_body(head);
    exchange_.answered = false;
    const auto action = admitted(head);
    std::optional<Error> trouble;
    try {
      co_await perform(action, parser);
    } catch (const boost::system::system_error&) {  // of the connection: there is nobody to tell
      throw;
    } catch (const std::exception& error) {
      if (exchange_.answered) throw;
      trouble = Error::of(error);
    }
    if (trouble) {  // nothing in the request was wrong, or that would have been said: it is the hub's files
      warn("a request of {}: {}", exchange_.caller.user, trouble->what());
      exchange_.keep_alive = false;
      co_await exchange_.send(refusal(std::max(503, status_of(*trouble)), trouble->what()));
    }
    if (exchange_.body_left)
      exchange_.keep_alive = false;  // nobody read it, and it must not be taken for a request
    co_return exchange_.keep_alive;
  }

  static bool has_body(const web::request<web::empty_body>& head) {
    return head.chunked() ||
           (head.find(web::field::content_length) != head.end() && head[web::field::content_length] != "0");
  }

  // What is asked for, if it may be asked.
  Action admitted(const web::request<web::empty_body>& head) {
    const auto host = view(head[web::field::host]);
    if (!host_is_ours(host, exchange_.shared->names))
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
    const auto caller = token.empty() ? std::nullopt : exchange_.shared->hub.caller(token);
    if (!caller)
      return Refuse{
          401,
          token.empty() ? "a token is needed: Authorization: Bearer TOKEN" : "this token is not known here",
          {}};
    exchange_.caller = *caller;
    if (!exchange_.caller.site.empty() && !std::holds_alternative<AgentSocket>(action))
      return Refuse{
          403, fmt::format("this token is for the agent of site {} only", exchange_.caller.site), {}};
    return action;
  }

  awaitable<void> perform(const Action& action, HeadParser& parser) {
    if (const auto* ask = std::get_if<Ask>(&action)) {
      co_await answer(ask->request);
    } else if (const auto* body = std::get_if<AskWithBody>(&action)) {
      co_await answer_body(*body, parser);
    } else if (const auto* file = std::get_if<SendFile>(&action)) {
      co_await http::send_file(exchange_, *file);
    } else if (const auto* log = std::get_if<SendLog>(&action)) {
      co_await http::send_log(exchange_, *log);
    } else if (const auto* head = std::get_if<BlobHead>(&action)) {
      co_await http::blob_head(exchange_, head->digest);
    } else if (const auto* get = std::get_if<BlobGet>(&action)) {
      co_await http::blob_get(exchange_, *get);
    } else if (const auto* put = std::get_if<BlobPut>(&action)) {
      co_await http::blob_put(exchange_, *put, parser);
    } else if (std::holds_alternative<StudyList>(action)) {
      co_await http::study_list(exchange_);
    } else if (const auto* study = std::get_if<StudyGet>(&action)) {
      co_await http::study_get(exchange_, *study);
    } else if (const auto* shown = std::get_if<StudyPut>(&action)) {
      if (const auto sent = co_await read_body(Studies::largest, parser))
        co_await http::study_put(exchange_, *shown, *sent);
    } else if (const auto* logs = std::get_if<StudyLogs>(&action)) {
      co_await http::study_logs(exchange_, *logs);
    } else if (const auto* read = std::get_if<StudyLogGet>(&action)) {
      co_await http::study_log(exchange_, *read);
    } else if (const auto* run = std::get_if<StudyRun>(&action)) {
      co_await http::study_run(exchange_, *run);
    } else if (const auto* grown = std::get_if<StudyLogPut>(&action)) {
      if (const auto sent = co_await read_body(StudyJournals::largest_piece, parser))
        co_await http::study_log_put(exchange_, *grown, *sent);
    } else if (const auto* events = std::get_if<Events>(&action)) {
      co_await http::send_events(exchange_, *events);
    } else if (std::holds_alternative<AgentSocket>(action)) {
      co_await serve_agent(exchange_, parser);
    } else if (std::holds_alternative<Health>(action)) {
      co_await health();
    } else if (const auto* page = std::get_if<Page>(&action)) {
      co_await http::send_page(exchange_, page->path, view(parser.get()[web::field::if_none_match]));
    } else if (const auto* refused = std::get_if<Refuse>(&action)) {
      auto reply = refusal(refused->status, refused->sentence);
      if (!refused->allow.empty()) reply.headers.emplace_back("Allow", refused->allow);
      if (refused->status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
      co_await exchange_.send(std::move(reply));
    }
  }

  awaitable<void> answer(const Request& request) {
    auto response = co_await exchange_.ask(request);
    co_await exchange_.send(reply_of(std::move(response)));
  }

  awaitable<void> health() {
    exchange_.caller = {};
    ListJobs list;
    list.limit = 1;
    const auto response = co_await exchange_.ask(list);
    if (response.status != 200) {
      co_await exchange_.send(refusal(503, "the hub does not answer"));
      co_return;
    }
    formats::Table table;
    table.set("status", "ok");
    table.set("version", exchange_.shared->options.version);
    const auto jobs = formats::parse_json(response.body, "the hub's answer");
    if (const auto* total = jobs.find("total")) table.set("jobs", *total);
    Reply reply;
    reply.body = formats::dump_json(table);
    co_await exchange_.send(std::move(reply));
  }

  // Nothing: it was too large, and that was said.
  awaitable<std::optional<std::string>> read_body(std::size_t limit, HeadParser& head) {
    const auto length = head.content_length();
    if (length && *length > limit) {
      co_await exchange_.send(too_large(limit));
      co_return std::nullopt;
    }
    co_await exchange_.expect(head.get());
    web::request_parser<web::string_body> parser(std::move(head));
    parser.body_limit(limit);
    exchange_.tcp_stream().expires_after(transfer_limit);
    error_code problem;
    co_await web::async_read(exchange_.stream, exchange_.buffer, parser, noting(problem));
    if (problem == web::error::body_limit) {
      co_await exchange_.send(too_large(limit));
      co_return std::nullopt;
    }
    if (problem) throw boost::system::system_error(problem);
    exchange_.body_left = false;
    co_return std::move(parser.get().body());
  }

  awaitable<void> answer_body(const AskWithBody& action, HeadParser& head) {
    const auto body = co_await read_body(action.limit, head);
    if (!body) co_return;
    std::optional<Request> request;
    std::string wrong;
    try {
      request = request_from(action, *body);
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (request)
      co_await answer(*request);
    else
      co_await exchange_.send(refusal(400, wrong));
  }

  static Reply too_large(std::size_t limit) {
    return refusal(
        413, fmt::format("the body is larger than {} KiB, which is the limit: code and data belong into the "
                         "bundle, not into the job file",
                         limit >> 10));
  }

  Exchange exchange_;
};

}  // namespace longship::hub::http
