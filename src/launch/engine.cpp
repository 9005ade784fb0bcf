// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <algorithm>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"

namespace longship::launch {
namespace {

using Words = std::vector<std::string>;

// Of a box: the home, /tmp and the working directory, as binds; then what was asked for, which so has the
// last word. `has_tmp`: the engine shows the host's /tmp by itself.
std::vector<box::Bind> all_binds(const EngineBox& box, bool has_tmp) {
  std::vector<box::Bind> binds;
  const auto covered = [&](const std::string& path) {
    return std::any_of(binds.begin(), binds.end(),
                       [&](const auto& bind) { return is_beneath(path, bind.to.native()); });
  };
  const auto same = [&](const std::string& path) {
    if (path.size() > 1 && path.front() == '/' && !covered(path)) binds.push_back({path, path});
  };
  if (!box.spec.private_tmp && !has_tmp) same("/tmp");
  if (box.spec.home) same(box.home);
  if (box.spec.working_directory.empty() && !(has_tmp && is_beneath(box.directory, "/tmp")))
    same(box.directory);
  binds.insert(binds.end(), box.spec.binds.begin(), box.spec.binds.end());
  return binds;
}

const std::string& directory_of(const EngineBox& box) {
  return box.spec.working_directory.empty() ? box.directory : box.spec.working_directory;
}

// Their options are lists with these between the parts, and they differ in how that could be escaped.
void check_paths(Engine engine, const std::vector<box::Bind>& binds) {
  for (const auto& bind : binds)
    for (const auto& path : {bind.from.native(), bind.to.native()})
      if (path.find_first_of(",:") != std::string::npos)
        throw Error(Failure::impossible,
                    "{} cannot be let in by {}: there is a comma or a colon in its name: use another path",
                    printable(path), name_of(engine));
}

void check(Engine engine, const EngineBox& box) {
  if (box.spec.fake_root)
    throw Error(Failure::impossible, "--fake-root works only in Longship's own boxes, not through {}",
                name_of(engine));
  if (box.spec.writable != box::Writable::no && !box.spec.upper.empty())
    throw Error(Failure::impossible,
                "{} writes only to memory: a directory for what is written works in Longship's own boxes",
                name_of(engine));
}

Words apptainer(const EngineBox& box) {
  const auto binds = all_binds(box, true);
  check_paths(Engine::apptainer, binds);
  Words words = {"apptainer", "exec", "--no-home"};  // ours is among the binds
  if (box.spec.private_tmp) append(words, {"--no-mount", "tmp", "--scratch", "/tmp"});
  if (box.spec.writable == box::Writable::temporary) words.emplace_back("--writable-tmpfs");
  if (box.gpus == GpuMaker::nvidia) words.emplace_back("--nv");
  if (box.gpus == GpuMaker::amd) words.emplace_back("--rocm");
  for (const auto& bind : binds)
    append(words, {"--bind", bind.from.native() + ":" + bind.to.native() + (bind.read_only ? ":ro" : "")});
  append(words, {"--pwd", directory_of(box), box.image});
  return words;
}

// Its root can always be written to, in memory; GPUs come by its own hook, where the centre has set it up.
Words sarus(const EngineBox& box) {
  const auto binds = all_binds(box, false);
  check_paths(Engine::sarus, binds);
  Words words = {"sarus", "run"};
  for (const auto& bind : binds)
    words.push_back("--mount=type=bind,source=" + bind.from.native() + ",destination=" + bind.to.native() +
                    (bind.read_only ? ",readonly" : ""));
  if (box.terminal) words.emplace_back("--tty");
  append(words, {"--workdir=" + directory_of(box), box.image});
  return words;
}

// Nothing is separated but the files, as in a box. Files that a process makes belong to the caller, who is
// root inside: another mapping would need subordinate ids, which users of a centre seldom have.
Words podman(Engine engine, const EngineBox& box) {
  const auto binds = all_binds(box, false);
  check_paths(engine, binds);
  Words words = {std::string(name_of(engine))};
  // Control groups are the batch system's; podman-hpc has settings of its own for them.
  const bool plain = engine == Engine::podman;
  if (plain) words.emplace_back("--cgroup-manager=cgroupfs");
  append(words, {"run", "--rm", "--interactive", plain ? "--cgroups=disabled" : "--pid=host",
                 "--network=host", "--ipc=host", "--uts=host", "--env-host", "--security-opt=label=disable",
                 "--log-driver=none", "--volume=/dev:/dev:rslave"});
  if (box.terminal) words.emplace_back("--tty");
  for (const auto& limit : box.limits) words.push_back("--ulimit=" + limit);
  if (!box.is_root) words.emplace_back("--group-add=keep-groups");
  if (box.descriptors > 0) words.push_back("--preserve-fds=" + std::to_string(box.descriptors));
  if (box.spec.writable == box::Writable::no) append(words, {"--read-only", "--read-only-tmpfs=false"});
  if (box.spec.private_tmp) words.emplace_back("--tmpfs=/tmp");
  if (box.gpus != GpuMaker::none && engine == Engine::podman_hpc) words.emplace_back("--gpu");
  if (box.gpus == GpuMaker::nvidia && engine == Engine::podman)
    words.emplace_back("--device=nvidia.com/gpu=all");
  for (const auto& bind : binds)
    words.push_back("--volume=" + bind.from.native() + ":" + bind.to.native() +
                    (bind.read_only ? ":ro,rslave" : ":rslave"));
  append(words, {"--workdir=" + directory_of(box), "--rootfs", box.image + ":O"});
  return words;
}

}  // namespace

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::apptainer:
      return "apptainer";
    case Engine::sarus:
      return "sarus";
    case Engine::podman:
      return "podman";
    case Engine::podman_hpc:
      return "podman-hpc";
    default:
      return "own";
  }
}

Engine engine_named(std::string_view name, std::string_view origin) {
  for (const Engine engine : engines)
    if (name_of(engine) == name) return engine;
  std::vector<std::string> known;
  known.reserve(engines.size());
  for (const Engine engine : engines) known.emplace_back(name_of(engine));
  throw Error(Failure::usage, "{}: there is no engine \"{}\"{} (there are: {})", origin, printable(name),
              suggestion(name, known), join(known, ", "));
}

Engine engine_of_environment(const Environment& environment) {
  const auto found = environment.find("LONGSHIP_ENGINE");
  if (found == environment.end() || found->second.empty()) return Engine::own;
  return engine_named(found->second, "LONGSHIP_ENGINE");
}

std::vector<std::string> engine_command(Engine engine, const EngineBox& box,
                                        const std::vector<std::string>& command) {
  check(engine, box);
  Words words = engine == Engine::apptainer ? apptainer(box)
                : engine == Engine::sarus   ? sarus(box)
                                            : podman(engine, box);
  append(words, command);
  return words;
}

std::vector<std::string> engines_here() {
  std::vector<std::string> names;
  for (const Engine engine : engines)
    if (engine != Engine::own && find_program(name_of(engine))) names.emplace_back(name_of(engine));
  return names;
}

std::string engine_to_suggest(const std::vector<std::string>& here) {
  for (const auto& engine : here)
    if (engine != name_of(Engine::podman)) return engine;
  return {};
}

bool needs_directory(Engine engine) {
  return engine == Engine::podman || engine == Engine::podman_hpc;
}

}  // namespace longship::launch
