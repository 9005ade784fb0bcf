// SPDX-License-Identifier: Apache-2.0
#include "hub_service.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "installation.h"
#include "store/store.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

hub::ServerOptions server_options(const ServiceWords& words, const std::string& version) {
  hub::ServerOptions options;
  options.address = words.address;
  options.port = static_cast<std::uint16_t>(words.port);
  options.certificate = words.certificate;
  options.key = words.key;
  options.version = version;
  options.names = words.names;
  return options;
}

// Also if its descriptor is gone: the process with this number may be another one by now.
bool is_longship(int pid) {
  std::error_code problem;
  const auto program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), problem);
  if (problem) return false;
  const auto name = program.filename().string();
  return name.starts_with("longship") || name.starts_with("ld");
}

class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

pid_t spawn(const fs::path& log, std::vector<std::string> words) {
  Actions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(actions.get(), 1, 2);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int problem =
      ::posix_spawn(&pid, arguments.front(), actions.get(), &attributes, arguments.data(), ::environ);
  ::posix_spawnattr_destroy(&attributes);
  if (problem != 0) throw Error::from_errno(problem, "cannot start {}", arguments.front());
  return pid;
}

// What it said before it ended; nothing, if its log could not be written.
Error ended_early(const fs::path& log, std::uint64_t from, int status) {
  const auto line = last_line_of(log, from);
  std::string_view words = line;
  constexpr std::string_view mark = "longship: error: ";
  if (words.starts_with(mark)) words.remove_prefix(mark.size());
  if (words.empty())
    return Error("the hub ended before it answered, and {} does not tell why: is its disk full?",
                 log.string());
  const bool impossible = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(Failure::impossible);
  return Error(impossible ? Failure::impossible : Failure::failed, "{}; all it said is in {}",
               printable(words), log.string());
}

}  // namespace

fs::path ServiceWords::where() const {
  return directory.empty() ? default_hub_directory() : fs::absolute(directory);
}

void parse_listen(const std::string& text, ServiceWords& words) {
  const auto colon = text.rfind(':');
  auto host = std::string_view(text).substr(0, colon);
  const auto port =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  int number = -1;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || problem != std::errc() || end != port.data() + port.size() || number < 0 ||
      number > 65535)
    throw Error(Failure::usage, "--listen {}: expected ADDRESS:PORT, as in 127.0.0.1:8470", printable(text));
  if (!host.empty()) words.address = host;
  words.port = number;
}

Service::Service(const ServiceWords& words, const std::string& version)
    : directory_(words.where()),
      hub_(hub::Options{directory_,
                        words.store.empty() ? store::default_location() : fs::absolute(words.store)}),
      server_(hub_, server_options(words, version)) {
  formats::Table table;
  table.set("url", server_.url());
  table.set("pid", ::getpid());
  write_file(directory_ / "hub.json", formats::dump_json(table) + "\n", 0600);
}

Service::~Service() {
  std::error_code ignored;
  fs::remove(directory_ / "hub.json", ignored);
}

std::string Service::portal() const {
  return portal_address(server_.url(), hub_.owner_token());
}

std::string portal_address(const std::string& url, const std::string& token) {
  return url + "/#token=" + token;
}

std::optional<RunningHub> answering_hub(const fs::path& directory) {
  const auto running = read_hub_file(directory);
  if (!running || !is_longship(running->pid)) return {};
  try {
    net::HttpClient http(running->url, {.connect_timeout = 2s});
    const net::Call health{.path = "/v1/health", .patience = 5s};
    if (http.perform(health).ok()) return running;
  } catch (const Error& problem) {
    explain("{}: {}", running->url, problem.what());
  }
  return {};
}

std::string portal_of(const fs::path& directory) {
  const auto running = answering_hub(directory);
  if (!running) throw Error("no hub is running in {}: `longship up` starts one", directory.string());
  return portal_address(running->url, std::string(trim(read_file(directory / "token", 4096))));
}

RunningHub start_in_background(const fs::path& directory, const std::vector<std::string>& words) {
  fs::create_directories(directory);
  ::chmod(directory.c_str(), 0700);
  const auto log = directory / "hub.log";
  const auto begin = size_if_there(log);
  std::vector<std::string> command = {small_program().string()};
  command.insert(command.end(), words.begin(), words.end());
  const pid_t pid = spawn(log, std::move(command));
  const auto deadline = SteadyClock::now() + 60s;
  while (SteadyClock::now() < deadline) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) throw ended_early(log, begin, status);
    if (const auto running = answering_hub(directory); running && running->pid == pid) return *running;
    std::this_thread::sleep_for(50ms);
  }
  throw Error("the hub does not answer after a minute: {} tells more", log.string());
}

bool stop_service(const fs::path& directory) {
  std::error_code problem;
  if (!fs::exists(directory / "lock", problem)) return false;
  // The kernel frees the lock however a hub ends: one that can be had means that none runs.
  const Fd lock = open_file(directory / "lock", O_RDONLY);
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
  const auto text = std::string(trim(read_file(directory / "lock", 64)));
  int pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  if (pid <= 0) throw Error("{} does not name the hub that holds it", (directory / "lock").string());
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return false;  // it has just ended
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0)
    throw Error::from_errno(errno, "cannot stop the hub, process {}", pid);
  pollfd waited{process.get(), POLLIN, 0};
  if (::poll(&waited, 1, 60'000) <= 0)
    throw Error("the hub, process {}, was told to stop but has not ended for a minute", pid);
  return true;
}

}  // namespace longship::cli
