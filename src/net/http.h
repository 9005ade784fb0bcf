// SPDX-License-Identifier: Apache-2.0
// A client for HTTP over libcurl: one server, one token, connections kept. Certificates are always checked;
// the answer's status is the caller's to judge.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace longship::net {

// The server was not reached, or the connection broke: trying again may help.
class Unreachable : public Error {
 public:
  using Error::Error;
};

struct Call {
  std::string method = "GET";
  std::string path;  // with its query, already encoded
  std::string_view body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Bytes of a successful answer go here, as they come, instead of into Answer::body.
  std::function<void(std::string_view)> sink = nullptr;
  // Before the first of them: whether they are what was asked for (206), or all there is (200).
  std::function<void(int status)> begins = nullptr;
  // Asked a few times a second; false: the call ends, Answer::abandoned.
  std::function<bool()> go_on = nullptr;
  std::chrono::milliseconds patience{std::chrono::seconds(90)};  // without a byte either way; 0: no limit
};

struct Answer {
  int status = 0;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  bool abandoned = false;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
  [[nodiscard]] std::string header(const std::string& name) const;
  [[nodiscard]] std::uint64_t number(const std::string& name) const;  // 0 if it is not there or no number
};

class HttpClient {
 public:
  struct Options {
    std::string token = {};    // Authorization: Bearer
    std::string ca_file = {};  // PEM; empty: the system's authorities
    std::chrono::milliseconds connect_timeout{std::chrono::seconds(10)};
    std::size_t largest_body = std::size_t{256} << 20;  // of an answer that is not streamed
  };
  HttpClient(std::string url, Options options);  // http://host:8470, without a path
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  [[nodiscard]] const std::string& url() const;
  // Unreachable, or an Error if the answer makes no sense.
  Answer perform(const Call& call);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::net
