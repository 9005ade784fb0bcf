// SPDX-License-Identifier: Apache-2.0
#include "engine_start.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "across.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "box/identity.h"
#include "engine_image.h"
#include "formats/document.h"
#include "formats/fields.h"
#include "launch.h"
#include "reception.h"

namespace longship::launch {
namespace fs = std::filesystem;
namespace {

struct Start {
  Boxed box;
  bool gpus = false;
};

std::string to_json(const Start& start) {
  formats::Table table;
  table.set("box", to_value(start.box));
  table.set("gpus", start.gpus);
  return formats::dump_json(table);
}

Start start_from_json(const std::string& text) {
  const auto document = formats::parse_json(text, "--through-engine");
  const formats::Fields fields(document, "", {"box", "gpus"});
  Start start;
  start.box = boxed_from(fields, "box");
  start.gpus = fields.flag("gpus", false);
  return start;
}

rlim_t number_in(const char* file, rlim_t otherwise) {
  try {
    return std::stoul(read_file(file, 64));
  } catch (const std::exception&) {
    return otherwise;
  }
}

GpuMaker gpus_here() {
  if (fs::exists("/dev/nvidiactl") || fs::exists("/dev/nvidia0")) return GpuMaker::nvidia;
  return fs::exists("/dev/kfd") ? GpuMaker::amd : GpuMaker::none;
}

// A launcher that speaks PMI through a descriptor names it. Engines pass those from 3 on, without a hole.
int pass_descriptors(const Environment& environment) {
  const auto found = environment.find("PMI_FD");
  int last = 0;
  if (found == environment.end()) return 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), last);
  for (int fd = 3; fd < last; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    Fd null(::open("/dev/null", O_RDWR));
    if (null.get() == fd)
      static_cast<void>(null.release());
    else if (null)
      ::dup2(null.get(), fd);
  }
  return last > 2 ? last - 2 : 0;
}

// As root, podman sets these to what it finds right; who may not raise limits needs those that there are. It
// has lowered the number of processes to the kernel's by then.
std::vector<std::string> limits_here() {
  rlimit files{}, processes{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NPROC, &processes);
  const auto most = std::min<rlim_t>(processes.rlim_max, number_in("/proc/sys/kernel/pid_max", 32768));
  return {fmt::format("nofile={}:{}", files.rlim_cur, files.rlim_max),
          fmt::format("nproc={}:{}", most, most)};
}

EngineBox box_here(const Start& start) {
  const auto caller = box::find_caller();
  const auto environment = current_environment();
  EngineBox box;
  box.spec = start.box.spec;
  for (const auto& bind : box::launcher_directories(environment)) box.spec.binds.push_back(bind);
  std::error_code hidden;  // what one may not see is not there
  std::erase_if(box.spec.binds,
                [&](const auto& bind) { return bind.optional && !fs::exists(bind.from, hidden); });
  box.home = fs::exists(caller.home, hidden) ? caller.home : "";
  box.directory = caller.working_directory.empty() ? "/" : caller.working_directory;
  box.is_root = caller.user == 0;
  box.terminal = ::isatty(0) == 1 && ::isatty(1) == 1;
  if (box.is_root) box.limits = limits_here();
  if (start.gpus) box.gpus = gpus_here();
  box.descriptors = pass_descriptors(environment);
  box.image = image_for(start.box.engine, box.spec);
  return box;
}

formats::Table table_of(const Environment& environment) {
  formats::Table table;
  for (const auto& [name, value] : environment) table.set(name, value);
  return table;
}

Environment variables_in(const formats::Value& document, std::string_view key) {
  Environment environment;
  for (const auto& entry : formats::Fields(document, "").required(key).table())
    environment[entry.key] = entry.value.text();
  return environment;
}

[[noreturn]] void become(const fs::path& program, const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw Error::from_errno(errno, "cannot run {}", program.string());
}

[[noreturn]] void start_in_engine(const Start& start, const std::vector<std::string>& inner) {
  const Engine engine = start.box.engine;
  check_engine(engine);
  const auto words = engine_command(engine, box_here(start), inner);
  explain("{}", join(words, " "));
  become(*find_program(words[0]), words);
}

}  // namespace

void check_engine(Engine engine) {
  if (engine == Engine::own || find_program(name_of(engine))) return;
  throw Error(
      Failure::impossible,
      "boxes are to be started by {}, and there is no such program on {}: load its module (`setup` of "
      "the queue in the site file), or choose another `engine`",
      name_of(engine), name_of_this_node());
}

std::vector<std::string> helper_inside(const std::vector<std::string>& helper) {
  auto words = helper;
  words.at(0) = fs::path(helper_in_the_box) / fs::path(helper[0]).filename();
  words.emplace_back("--entered");
  return words;
}

std::vector<std::string> through_engine(const Plan& plan, const std::vector<std::string>& helper,
                                        std::vector<std::string> inner) {
  Start start{*plan.box, plan.gpus_per_rank > 0};
  auto& binds = start.box.spec.binds;
  binds.push_back({fs::path(helper.at(0)).parent_path(), helper_in_the_box, true});
  if (!plan.output.empty()) binds.push_back({plan.output, plan.output});
  start.box.spec.join.clear();
  std::vector<std::string> words = {helper[0], "launch", "--through-engine", to_json(start), "--"};
  if (inner.empty()) inner = helper_inside(helper);
  words.insert(words.end(), inner.begin(), inner.end());
  return words;
}

Result run_in_engine(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                     Surroundings& surroundings) {
  check_engine(plan.box->engine);
  const Reception reception;
  Starter starter;
  starter.command = through_engine(plan, helper);
  starter.meeting = reception.socket.get();
  starter.meeting_name = reception.name;
  starter.name = name_of(plan.box->engine);
  return run_helpers(plan, starter, screen, surroundings);
}

void start_through_engine(const std::string& what, const std::vector<std::string>& inner) {
  start_in_engine(start_from_json(what), inner);
}

void start_program_in_engine(const Boxed& box, const Environment& chosen, bool gpus, const fs::path& longship,
                             const std::vector<std::string>& command) {
  Start start{box, gpus};
  start.box.spec.binds.push_back({longship.parent_path(), helper_in_the_box, true});
  formats::Table variables;
  variables.set("image", table_of(box.environment));
  variables.set("chosen", table_of(chosen));
  std::vector<std::string> inner = {fs::path(helper_in_the_box) / longship.filename(), "box", "--entered",
                                    formats::dump_json(variables), "--"};
  inner.insert(inner.end(), command.begin(), command.end());
  start_in_engine(start, inner);
}

void execute_entered(const std::string& what, const std::vector<std::string>& command) {
  const auto document = formats::parse_json(what, "--entered");
  forget_engine();
  box::execute(command, box::boxed_environment(variables_in(document, "image"), current_environment(),
                                               variables_in(document, "chosen")));
}

void forget_engine() {
  ::unsetenv("LONGSHIP_ENGINE");
}

}  // namespace longship::launch
