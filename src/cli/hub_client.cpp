// SPDX-License-Identifier: Apache-2.0
#include "hub_client.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <thread>

#include <array>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/number.h"
#include "net/address.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t piece = std::size_t{8} << 20;
constexpr std::uint64_t worth_a_line = std::uint64_t{4} << 20;  // of progress

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string token_in(const fs::path& directory) {
  return std::string(trim(read_file(directory / "token", 4096)));
}

Error refused(const net::Call& call, const net::Answer& answer) {
  std::string sentence;
  try {
    sentence = text_at(formats::parse_json(answer.body, "the hub's answer"), "error");
  } catch (const Error&) {
    // no hub of ours: the status has to do
  }
  if (answer.status == 401)
    return Error("the hub does not accept our token: {}; set LONGSHIP_TOKEN to another one",
                 sentence.empty() ? "401" : sentence);
  if (sentence.empty()) return Error("{} {}: the hub answered {}", call.method, call.path, answer.status);
  const bool usage = answer.status == 400 || answer.status == 413;
  return usage ? Error(Failure::usage, "{}", sentence) : Error("{}", sentence);
}

}  // namespace

fs::path default_hub_directory() {
  if (const auto chosen = variable("LONGSHIP_HUB_DIR"); !chosen.empty()) return fs::absolute(chosen);
  if (const auto data = variable("XDG_DATA_HOME"); !data.empty()) return fs::path(data) / "longship" / "hub";
  const auto home = variable("HOME");
  if (home.empty()) throw Error("neither LONGSHIP_HUB_DIR nor HOME is set: where is the hub's directory?");
  return fs::path(home) / ".local" / "share" / "longship" / "hub";
}

std::optional<RunningHub> read_hub_file(const fs::path& directory) {
  const auto file = directory / "hub.json";
  std::error_code problem;
  if (!fs::exists(file, problem)) return {};
  const auto value = formats::parse_json(read_file(file, 65536), file.string());
  return RunningHub{text_at(value, "url"), static_cast<int>(number_at(value, "pid"))};
}

HubClient::Chosen HubClient::choose(const std::string& url) {
  Chosen chosen{url.empty() ? variable("LONGSHIP_HUB") : url, variable("LONGSHIP_TOKEN"),
                variable("LONGSHIP_CA")};
  const auto directory = default_hub_directory();
  const auto here = read_hub_file(directory);
  if (chosen.url.empty()) {
    if (!here)
      throw net::Unreachable(
          "no hub is running here: `longship up` starts one, --hub or LONGSHIP_HUB names another");
    chosen.url = here->url;
  }
  // The token of the hub here is for nobody else.
  if (chosen.token.empty() && here && chosen.url == here->url) chosen.token = token_in(directory);
  (void)net::parse_address(chosen.url);  // what is no address needs no token
  if (chosen.token.empty())
    throw Error(
        Failure::usage,
        "there is no token for the hub at {}: set LONGSHIP_TOKEN to the one that its owner made for you "
        "with `longship token add`",
        chosen.url);
  return chosen;
}

namespace {

// A hub that was there a moment ago is being restarted: that takes seconds.
constexpr int most_tries = 60;
constexpr std::chrono::milliseconds pause_between_tries{500};

// What is asked twice has the effect of once; bytes that went to a sink already cannot be taken back.
bool may_be_repeated(const net::Call& call) {
  if (call.sink) return false;
  const bool has_key = std::any_of(call.headers.begin(), call.headers.end(),
                                   [](const auto& header) { return header.first == "Idempotency-Key"; });
  return call.method != "POST" || has_key;
}

}  // namespace

HubClient::HubClient(const std::string& url) : HubClient(choose(url)) {}
HubClient::HubClient(const Chosen& chosen)
    : chosen_(chosen), http_(chosen.url, {.token = chosen.token, .ca_file = chosen.ca_file}) {}

bool HubClient::is_here() const {
  return net::is_loopback(net::parse_address(url()).host);
}

net::Answer HubClient::call(const net::Call& call) {
  for (int tries = 1;; ++tries) {
    try {
      auto answer = http_.perform(call);
      reached_ = true;
      return answer;
    } catch (const net::Unreachable& problem) {
      if (!reached_ || !may_be_repeated(call) || tries == most_tries)
        throw net::Unreachable("cannot reach the hub at {}: {}; is it running? `longship up` starts one",
                               url(), problem.what());
      std::this_thread::sleep_for(pause_between_tries);
    }
  }
}

net::Answer HubClient::checked(const net::Call& asked) {
  auto answer = call(asked);
  if (!answer.ok() && !answer.abandoned) throw refused(asked, answer);
  return answer;
}

formats::Value HubClient::get(const std::string& path) {
  return formats::parse_json(checked({.path = path}).body, "the hub's answer",
                             {.bytes = std::size_t{256} << 20});
}

formats::Value HubClient::post(const std::string& path, const formats::Value& body, const std::string& key) {
  const auto text = body.is(formats::Kind::null) ? std::string() : formats::dump_json(body);
  net::Call asked{
      .method = "POST", .path = path, .body = text, .headers = {{"Content-Type", "application/json"}}};
  if (!key.empty()) asked.headers.emplace_back("Idempotency-Key", key);
  return formats::parse_json(checked(asked).body, "the hub's answer", {.bytes = std::size_t{256} << 20});
}

formats::Value HubClient::put(const std::string& path, const formats::Value& body) {
  const auto text = formats::dump_json(body);
  const auto answer = checked(
      {.method = "PUT", .path = path, .body = text, .headers = {{"Content-Type", "application/json"}}});
  return formats::parse_json(answer.body, "the hub's answer");
}

formats::Value HubClient::remove(const std::string& path) {
  return formats::parse_json(checked({.method = "DELETE", .path = path}).body, "the hub's answer");
}

void HubClient::upload(const std::string& digest, const fs::path& file, Progress& shown,
                       std::string_view what) {
  const std::string path = "/v1/blobs/" + digest;
  const auto there = call({.method = "HEAD", .path = path});
  if (there.ok()) return;
  if (there.status != 404) throw refused({.method = "HEAD", .path = path}, there);
  const std::uint64_t size = fs::file_size(file);
  const Fd fd = open_file(file, O_RDONLY);
  std::string bytes;
  NoProgress none;
  Progress& progress = size < worth_a_line ? none : shown;
  progress.begin(what, size, "B");
  for (std::uint64_t at = there.number("x-longship-uploaded"); at < size;) {
    bytes.resize(std::min<std::uint64_t>(piece, size - at));
    const auto got = ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got <= 0) throw Error("{} became shorter while it was sent", file.string());
    bytes.resize(static_cast<std::size_t>(got));
    net::Call sent{.method = "PUT", .path = path, .body = bytes};
    sent.headers = {{"Content-Range", fmt::format("bytes {}-{}/{}", at, at + bytes.size() - 1, size)},
                    {"Content-Type", "application/octet-stream"}};
    const auto answer = call(sent);
    if (!answer.ok() && answer.status != 409) throw refused(sent, answer);
    const auto stands = answer.number("x-longship-uploaded");
    if (stands == at) throw refused(sent, answer);
    at = stands;
    progress.update(at);
  }
  progress.end();
}

namespace {

// What was cut off goes on, if it is the same that is fetched: of another job, attempt or hub the rest would
// be put behind a half that is not its own.
std::string part_name(const std::string& origin, const fs::path& into) {
  const auto digest = formats::digest_of(origin + "\n" + into.filename().string());
  return fmt::format(".{}.part", formats::hex_of(digest).substr(0, 16));
}

}  // namespace

void HubClient::download(const std::string& path, const fs::path& into, std::uint64_t size, Progress& shown) {
  fs::create_directories(into.parent_path());
  const auto aside = into.parent_path() / part_name(url() + path, into);
  const Fd fd = open_file(aside, O_WRONLY | O_CREAT, 0644);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw Error::from_errno(errno, "cannot look at {}", aside.string());
  auto at = static_cast<std::uint64_t>(info.st_size);
  if (at > size) at = 0;
  if (::ftruncate(fd.get(), static_cast<off_t>(at)) != 0 || ::lseek(fd.get(), 0, SEEK_END) < 0)
    throw Error::from_errno(errno, "cannot write {}", aside.string());
  NoProgress none;
  Progress& progress = size < worth_a_line ? none : shown;
  progress.begin("fetching " + into.filename().string(), size, "B");
  if (at < size) {
    net::Call asked{.path = path};
    if (at > 0) asked.headers = {{"Range", fmt::format("bytes={}-", at)}};
    asked.sink = [&](std::string_view bytes) {
      write_all(fd.get(), bytes);
      progress.update(at += bytes.size());
    };
    checked(asked);
  }
  progress.end();
  if (at != size) throw Error("{}: {} bytes came of {}", into.string(), at, size);
  if (::fsync(fd.get()) != 0) throw Error::from_errno(errno, "cannot write {}", aside.string());
  fs::rename(aside, into);
}

void add_hub_option(Command& command, std::string& url) {
  command.option("--hub", url, "Address of the hub (LONGSHIP_HUB, or the one started here)",
                 {.value = "URL"});
}

std::string job_path(std::string_view job, std::string_view rest) {
  return fmt::format("/v1/jobs/{}{}", net::percent_encode(job), rest);
}

std::string text_at(const formats::Value& value, std::string_view key) {
  const auto* found = value.find(key);
  return found != nullptr && found->is(formats::Kind::text) ? printable(found->text()) : std::string();
}

std::int64_t number_at(const formats::Value& value, std::string_view key, std::int64_t fallback) {
  const auto* found = value.find(key);
  if (found == nullptr) return fallback;
  if (found->is(formats::Kind::integer)) return found->integer();
  return found->is(formats::Kind::number) ? static_cast<std::int64_t>(found->number()) : fallback;
}

const formats::Array& list_at(const formats::Value& value, std::string_view key) {
  static const formats::Array none;
  const auto* found = value.find(key);
  return found != nullptr && found->is(formats::Kind::array) ? found->array() : none;
}

bool is_over(std::string_view state) {
  return state == "finished" || state == "failed" || state == "cancelled";
}

std::string ago(std::int64_t then) {
  if (then == 0) return {};
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const auto seconds = std::max<std::int64_t>(0, now.count() - then);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

}  // namespace longship::cli
