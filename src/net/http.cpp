// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "address.h"
#include "base/text.h"

namespace longship::net {
namespace {

using namespace std::chrono_literals;

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, FreeHandle>;
using List = std::unique_ptr<curl_slist, FreeList>;

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

constexpr std::size_t largest_head = std::size_t{256} << 10;

// One call under way: what curl's callbacks need.
struct Transfer {
  const Call& call;
  std::size_t largest_body;
  CURL* handle = nullptr;
  Answer answer = {};
  std::string_view rest = {};  // of the body, still to be sent
  std::size_t head = 0;        // bytes of the answer's, so far
  bool head_ended = false;     // with its empty line
  bool body_began = false;     // in the sink
  std::exception_ptr problem = {};

  template <class Work>
  std::size_t guarded(std::size_t size, Work&& work) {
    try {
      work();
      return size;
    } catch (...) {
      problem = std::current_exception();
      return size + 1;  // curl gives up
    }
  }
};

std::size_t take_bytes(char* bytes, std::size_t one, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  return transfer.guarded(one * count, [&] {
    const std::string_view piece(bytes, one * count);
    long status = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    if (transfer.call.sink && status >= 200 && status < 300) {
      if (!std::exchange(transfer.body_began, true) && transfer.call.begins)
        transfer.call.begins(static_cast<int>(status));
      transfer.call.sink(piece);
      return;
    }
    if (transfer.answer.body.size() + piece.size() > transfer.largest_body)
      throw Error("the answer to {} {} is larger than expected", transfer.call.method, transfer.call.path);
    transfer.answer.body += piece;
  });
}

std::size_t take_header(char* bytes, std::size_t one, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  return transfer.guarded(one * count, [&] {
    const std::string_view line(bytes, one * count);
    if ((transfer.head += line.size()) > largest_head)  // curl has no limit but for each line
      throw Error("the answer to {} {} makes no sense: its head has no end", transfer.call.method,
                  transfer.call.path);
    if (line.starts_with("HTTP/")) transfer.answer.headers.clear();  // after "100 Continue"
    transfer.head_ended = trim(line).empty();
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    transfer.answer.headers[lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
  });
}

std::size_t give_bytes(char* into, std::size_t one, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const auto size = std::min(one * count, transfer.rest.size());
  std::copy_n(transfer.rest.data(), size, into);
  transfer.rest.remove_prefix(size);
  return size;
}

int rewind_bytes(void* data, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(data);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > transfer.call.body.size())
    return CURL_SEEKFUNC_FAIL;
  transfer.rest = transfer.call.body.substr(static_cast<std::size_t>(offset));
  return CURL_SEEKFUNC_OK;
}

void append(List& list, const std::string& line) {
  auto* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

}  // namespace

struct HttpClient::Parts {
  std::string url;
  Options options;
  Handle handle;
  std::unique_ptr<CURLM, FreeMulti> multi;

  void prepare(Transfer& transfer, const List& headers, const std::string& address, char* words);
  CURLcode drive(Transfer& transfer);
  [[nodiscard]] Unreachable unreachable(CURLcode code, const char* words) const;
};

HttpClient::HttpClient(std::string url, Options options) : parts_(std::make_unique<Parts>()) {
  start_curl();
  const auto address = parse_address(url);
  parts_->url = fmt::format("{}://{}", address.tls ? "https" : "http", address.authority());
  parts_->options = std::move(options);
  parts_->handle.reset(curl_easy_init());
  parts_->multi.reset(curl_multi_init());
  if (!parts_->handle || !parts_->multi) throw std::bad_alloc();
}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

const std::string& HttpClient::url() const {
  return parts_->url;
}

Answer HttpClient::perform(const Call& call) {
  Transfer transfer{
      .call = call, .largest_body = parts_->options.largest_body, .handle = parts_->handle.get()};
  transfer.rest = call.body;
  List headers;
  if (!parts_->options.token.empty()) append(headers, "Authorization: Bearer " + parts_->options.token);
  for (const auto& [name, value] : call.headers) append(headers, name + ": " + value);
  append(headers, "Expect:");  // our servers answer at once
  const std::string address = parts_->url + call.path;
  char words[CURL_ERROR_SIZE] = "";
  parts_->prepare(transfer, headers, address, words);
  const CURLcode code = parts_->drive(transfer);

  if (transfer.problem) std::rethrow_exception(transfer.problem);
  if (transfer.answer.abandoned) return std::move(transfer.answer);
  if (code != CURLE_OK) throw parts_->unreachable(code, words);
  // curl 7.88 takes a connection that ends within the head for an answer without a body.
  if (!transfer.head_ended) throw parts_->unreachable(CURLE_PARTIAL_FILE, words);
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.answer.status = static_cast<int>(status);
  return std::move(transfer.answer);
}

void HttpClient::Parts::prepare(Transfer& transfer, const List& headers, const std::string& address,
                                char* words) {
  CURL* curl = handle.get();
  const Call& call = transfer.call;
  curl_easy_reset(curl);  // keeps connections
  curl_easy_setopt(curl, CURLOPT_URL, address.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  if (call.patience.count() > 0) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     static_cast<long>(std::max<std::int64_t>(1, call.patience.count() / 1000)));
  }
  if (!options.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  // A token does not go through somebody's proxy to a hub on this machine.
  if (is_loopback(parse_address(url).host)) curl_easy_setopt(curl, CURLOPT_PROXY, "");

  if (call.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (call.method == "PUT" || call.method == "POST" || call.method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_bytes);
    curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, rewind_bytes);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  } else {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  }
}

// By hand, so that somebody who waits can be asked whether to go on.
CURLcode HttpClient::Parts::drive(Transfer& transfer) {
  struct Added {
    CURLM* multi;
    CURL* handle;
    ~Added() { curl_multi_remove_handle(multi, handle); }
  };
  curl_multi_add_handle(multi.get(), handle.get());
  const Added added{multi.get(), handle.get()};
  while (true) {
    int running = 0;
    if (curl_multi_perform(multi.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running == 0) break;
    if (transfer.call.go_on && !transfer.call.go_on()) {
      transfer.answer.abandoned = true;
      return CURLE_OK;
    }
    const auto wait = transfer.call.go_on ? 100ms : 1000ms;
    if (curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr) != CURLM_OK)
      return CURLE_FAILED_INIT;
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left))
    if (message->msg == CURLMSG_DONE) return message->data.result;
  return CURLE_GOT_NOTHING;
}

Unreachable HttpClient::Parts::unreachable(CURLcode code, const char* words) const {
  switch (code) {
    case CURLE_COULDNT_CONNECT: {
      long number = 0;
      curl_easy_getinfo(handle.get(), CURLINFO_OS_ERRNO, &number);
      if (number == ECONNREFUSED) return Unreachable("connection refused");
      return Unreachable("{}", *words != '\0' ? words : "cannot connect");
    }
    case CURLE_COULDNT_RESOLVE_HOST:
      return Unreachable("there is no host {}", parse_address(url).host);
    case CURLE_OPERATION_TIMEDOUT:
      return Unreachable("it does not answer");
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return Unreachable("the connection broke");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return Unreachable("its certificate is not trusted: {}",
                         *words != '\0' ? words : curl_easy_strerror(code));
    default:
      return Unreachable("{}", *words != '\0' ? words : curl_easy_strerror(code));
  }
}

std::string Answer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::uint64_t Answer::number(const std::string& name) const {
  const auto text = header(name);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace longship::net
