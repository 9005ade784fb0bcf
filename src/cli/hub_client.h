// SPDX-License-Identifier: Apache-2.0
// The hub, as commands see it: found by option, environment or in its directory; asked, and its sentences
// passed on.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "formats/document.h"
#include "net/http.h"
#include "words.h"

namespace longship::cli {

// $LONGSHIP_HUB_DIR, or longship/hub in $XDG_DATA_HOME or ~/.local/share.
[[nodiscard]] std::filesystem::path default_hub_directory();

// hub.json in a hub's directory while it runs.
struct RunningHub {
  std::string url;
  int pid = 0;
};
[[nodiscard]] std::optional<RunningHub> read_hub_file(const std::filesystem::path& directory);

class HubClient {
 public:
  // `url` from --hub; empty: $LONGSHIP_HUB with $LONGSHIP_TOKEN, else the one that was started on this
  // machine.
  explicit HubClient(const std::string& url);

  [[nodiscard]] const std::string& url() const { return http_.url(); }
  [[nodiscard]] bool is_here() const;  // on this machine
  [[nodiscard]] HubClient another() const {
    return HubClient(chosen_);
  }  // a second connection to the same hub

  // JSON there and back; an answer that is an error becomes an Error with the hub's sentence.
  formats::Value get(const std::string& path);
  formats::Value post(const std::string& path, const formats::Value& body = {}, const std::string& key = {});
  formats::Value put(const std::string& path, const formats::Value& body);
  formats::Value remove(const std::string& path);
  // For what is more than JSON; Unreachable says how to start one. A hub that answered before and is gone is
  // waited for, half a minute, where asking twice does no harm.
  net::Answer call(const net::Call& call);
  // The same, with other answers than success as an Error.
  net::Answer checked(const net::Call& call);

  // Bytes by their digest; what is there already is not sent again, what was cut off goes on.
  void upload(const std::string& digest, const std::filesystem::path& file, Progress& progress,
              std::string_view what);
  // Into a file beside, which then gets its name; what was cut off goes on.
  void download(const std::string& path, const std::filesystem::path& into, std::uint64_t size,
                Progress& progress);

 private:
  struct Chosen {
    std::string url, token, ca_file;
  };
  static Chosen choose(const std::string& url);
  explicit HubClient(const Chosen& chosen);

  Chosen chosen_;
  net::HttpClient http_;
  bool reached_ = false;
};

// --hub URL
void add_hub_option(Command& command, std::string& url);

// "/v1/jobs/digits-7" and what follows.
[[nodiscard]] std::string job_path(std::string_view job, std::string_view rest = {});

// Values of the hub's answers; empty or the fallback if absent or null. Texts are printable.
[[nodiscard]] std::string text_at(const formats::Value& value, std::string_view key);
[[nodiscard]] std::int64_t number_at(const formats::Value& value, std::string_view key,
                                     std::int64_t fallback = 0);
[[nodiscard]] const formats::Array& list_at(const formats::Value& value, std::string_view key);
[[nodiscard]] bool is_over(std::string_view state);              // of a job
[[nodiscard]] std::string ago(std::int64_t seconds_since_1970);  // "3 min"; empty for 0

}  // namespace longship::cli
