// SPDX-License-Identifier: Apache-2.0
// Frames over a WebSocket that this side opens. A thread of its own reads and writes; the callers' threads
// meet it at two queues.
#include "any_stream.h"  // first: see there

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/use_future.hpp>
#include <boost/beast/websocket.hpp>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "address.h"
#include "base/error.h"
#include "base/fd.h"
#include "frame_stream.h"

namespace longship::net {
namespace {

using namespace std::chrono_literals;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::awaitable;
using asio::use_awaitable;
using tcp = asio::ip::tcp;

constexpr std::size_t most_waiting = 64;  // frames that nobody received yet: then no more are read
constexpr auto connecting = 20s;
constexpr auto silence = 30s;  // with a ping in the middle
constexpr auto patience = 60s;

asio::ssl::context tls_context(const std::string& ca_file) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  context.set_verify_mode(asio::ssl::verify_peer);
  boost::system::error_code problem;
  if (ca_file.empty())
    context.set_default_verify_paths(problem);
  else
    context.load_verify_file(ca_file, problem);
  if (problem) throw Error("cannot read the certificates in {}: {}", ca_file, problem.message());
  return context;
}

class WebSocketFrames final : public FrameStream {
 public:
  WebSocketFrames(const std::string& url, const std::string& token, const std::string& ca_file,
                  const std::stop_token& stop)
      : address_(parse_address(url)),
        token_(token),
        tls_(tls_context(ca_file)),
        socket_(AnyStream(io_.get_executor())),
        more_(io_),
        readable_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    auto opened = asio::co_spawn(io_, open_or_say_why(), asio::use_future);
    thread_ = std::thread([this] { io_.run(); });
    bool is_open = false;
    while (!(is_open = opened.wait_for(100ms) == std::future_status::ready) && !stop.stop_requested()) {
    }
    const auto problem = is_open ? opened.get() : "we are to end before it answers";
    if (!problem.empty()) {
      io_.stop();
      thread_.join();
      throw Error("cannot reach the hub at {}: {}", url, problem);
    }
    open_ = true;
    asio::co_spawn(io_, read(), [](std::exception_ptr) {});
  }

  ~WebSocketFrames() override {
    close();
    if (thread_.joinable()) thread_.join();
  }

  void send(std::string_view frame) override {
    if (frame.size() > largest_frame) throw Error("a frame of {} bytes is too long to be sent", frame.size());
    if (open_) {
      auto written = asio::co_spawn(io_, write(std::string(frame)), asio::use_future);
      const auto deadline = std::chrono::steady_clock::now() + patience;
      while (open_ && written.wait_for(100ms) != std::future_status::ready)
        if (std::chrono::steady_clock::now() > deadline) end("the hub did not read for a minute");
      if (open_ && written.get()) return;
    }
    throw Error("the connection to the hub is closed: {}", because());
  }

  std::optional<std::string> receive(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, timeout, [&] { return !frames_.empty() || !open_; });
    if (frames_.empty()) return {};
    auto frame = std::move(frames_.front());
    frames_.pop_front();
    if (frames_.size() == most_waiting - 1) asio::post(io_, [this] { more_.cancel(); });
    if (frames_.empty() && open_) drain();
    return frame;
  }

  bool open() const override {
    const std::lock_guard lock(mutex_);
    return open_ || !frames_.empty();
  }
  int fd() const override { return readable_.get(); }
  std::string ended_because() const override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  void close() override { end(""); }

 private:
  // As text: an exception would belong to two threads at once.
  awaitable<std::string> open_or_say_why() {
    try {
      co_await handshake();
      co_return "";
    } catch (const std::exception& problem) {
      co_return problem.what();
    }
  }

  awaitable<void> handshake() {
    auto& stream = socket_.next_layer();
    auto& connection = stream.next_layer();
    tcp::resolver resolver(io_);
    const auto found = co_await resolver.async_resolve(address_.host, address_.port, use_awaitable);
    connection.expires_after(connecting);
    co_await connection.async_connect(found, use_awaitable);
    connection.socket().set_option(tcp::no_delay(true));
    if (address_.tls) {
      stream.use_tls(tls_, address_.host);
      co_await stream.async_handshake(false, use_awaitable);
    }
    connection.expires_never();
    socket_.set_option(websocket::stream_base::timeout{connecting, silence, true});
    socket_.set_option(websocket::stream_base::decorator([this](websocket::request_type& request) {
      request.set(http::field::authorization, "Bearer " + token_);
    }));
    socket_.read_message_max(largest_frame);
    socket_.binary(true);
    socket_.auto_fragment(false);
    websocket::response_type answer;
    boost::system::error_code problem;
    co_await socket_.async_handshake(answer, address_.authority(), address_.path, noting(problem));
    if (answer.result() == http::status::unauthorized) throw Error("it does not accept our token");
    if (problem == websocket::error::upgrade_declined)
      throw Error("it answered {} {}", answer.result_int(), std::string(answer.reason()));
    if (problem) throw boost::system::system_error(problem);
  }

  awaitable<void> read() {
    beast::flat_buffer buffer;
    while (true) {
      boost::system::error_code problem;
      co_await socket_.async_read(buffer, noting(problem));
      if (problem) {
        end(problem == websocket::error::closed ? closing_words()
                                                : "the connection broke: " + problem.message());
        co_return;
      }
      const auto* bytes = static_cast<const char*>(buffer.data().data());
      if (put(std::string(bytes, buffer.size()))) {
        more_.expires_at(asio::steady_timer::time_point::max());
        if (full()) co_await more_.async_wait(noting(problem));  // until somebody receives
      }
      buffer.consume(buffer.size());
    }
  }

  awaitable<bool> write(std::string frame) {
    boost::system::error_code problem;
    co_await socket_.async_write(asio::buffer(frame), noting(problem));
    if (problem) end("the connection broke: " + problem.message());
    co_return !problem;
  }

  std::string closing_words() const {
    const auto& words = socket_.reason().reason;
    return words.empty() ? "the hub closed it" : std::string(words.data(), words.size());
  }

  bool full() const {
    const std::lock_guard lock(mutex_);
    return frames_.size() >= most_waiting && open_;
  }

  bool put(std::string frame) {  // true: enough for now
    const std::lock_guard lock(mutex_);
    frames_.push_back(std::move(frame));
    wake();
    return frames_.size() >= most_waiting;
  }

  void end(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!open_.exchange(false)) return;
      reason_ = reason;
      wake();
    }
    asio::co_spawn(io_, say_goodbye(), [](std::exception_ptr) {});
  }

  // A closing frame if the hub takes it quickly; then the thread has nothing more to do.
  awaitable<void> say_goodbye() {
    more_.cancel();
    boost::system::error_code problem;
    socket_.set_option(websocket::stream_base::timeout{2s, 2s, false});
    if (socket_.is_open()) co_await socket_.async_close(websocket::close_code::normal, noting(problem));
    io_.stop();  // whoever sends sees that it is no longer open
  }

  std::string because() const {
    const auto reason = ended_because();
    return reason.empty() ? "this side closed it" : reason;
  }

  void wake() {  // with the lock
    const std::uint64_t one = 1;
    if (::write(readable_.get(), &one, sizeof one) < 0) return;  // it is readable already
    arrived_.notify_all();
  }
  void drain() {  // with the lock
    std::uint64_t count = 0;
    if (::read(readable_.get(), &count, sizeof count) < 0) return;
  }

  const Address address_;
  const std::string token_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy_{io_.get_executor()};
  asio::ssl::context tls_;
  websocket::stream<AnyStream> socket_;
  asio::steady_timer more_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> frames_;
  std::string reason_;
  std::atomic<bool> open_ = false;
  Fd readable_;
};

}  // namespace

std::unique_ptr<FrameStream> connect_websocket(const std::string& url, const std::string& token,
                                               const std::string& ca_file, const std::stop_token& stop) {
  return std::make_unique<WebSocketFrames>(url, token, ca_file, stop);
}

}  // namespace longship::net
