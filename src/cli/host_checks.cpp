// SPDX-License-Identifier: Apache-2.0
#include "host_checks.h"

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "box/abilities.h"
#include "formats/units.h"
#include "launch/engine.h"
#include "store/store.h"

namespace longship::cli {
namespace fs = std::filesystem;
namespace {

using std::chrono::seconds;

// What a program says, if it is there and answers soon.
std::optional<std::string> answer_of(std::vector<std::string> arguments) {
  if (!find_program(arguments[0])) return {};
  Command command;
  command.arguments = std::move(arguments);
  RunOptions options;
  options.timeout = seconds(5);
  const Outcome outcome = run(std::move(command), options);
  if (!outcome.ending.ok()) return {};
  return std::string(trim(outcome.output));
}

std::string first_line(const std::string& words) {
  return std::string(split(words, '\n')[0]);
}

std::vector<Check> of_boxes() {
  std::vector<Check> checks;
  for (auto& ability : box::abilities())
    checks.push_back({.name = ability.name,
                      .verdict = ability.there            ? Verdict::yes
                                 : ability.remedy.empty() ? Verdict::absent
                                                          : Verdict::no,
                      .detail = std::move(ability.detail),
                      .remedy = std::move(ability.remedy)});
  return checks;
}

// Where our own boxes cannot run, the centre's tool can.
void add_engines(std::vector<Check>& checks) {
  const auto found = launch::engines_here();
  if (found.empty()) {
    checks.push_back({"other engines", Verdict::absent, "no apptainer, sarus, podman or podman-hpc", ""});
    return;
  }
  checks.push_back({"other engines", Verdict::yes, join(found, ", "), ""});
  const auto engine = launch::engine_to_suggest(found);
  if (auto& boxes = checks.front(); boxes.verdict == Verdict::no && !engine.empty())
    boxes.remedy +=
        fmt::format("; or let {0} start them: LONGSHIP_ENGINE={0}, in a site file engine = \"{0}\"", engine);
}

Check kernel() {
  utsname about = {};
  ::uname(&about);
  return {"kernel", Verdict::yes, fmt::format("{} {} on {}", about.sysname, about.release, about.machine),
          ""};
}

Check cgroups() {
  struct statfs about = {};
  constexpr long version_2 = 0x63677270;
  if (::statfs("/sys/fs/cgroup", &about) != 0) return {"cgroups", Verdict::absent, "none", ""};
  if (about.f_type == version_2) return {"cgroups", Verdict::yes, "version 2", ""};
  const bool both = fs::exists("/sys/fs/cgroup/unified");
  return {"cgroups", Verdict::yes, both ? "version 1, with 2 beside it" : "version 1", ""};
}

Check slurm() {
  if (!find_program("sinfo")) return {"Slurm", Verdict::absent, "no sinfo here", ""};
  const auto version = answer_of({"sinfo", "--version"});
  const auto nodes = answer_of({"sinfo", "-h", "-o", "%D nodes in partition %P"});
  if (!nodes)
    return {"Slurm", Verdict::no,
            fmt::format("{} is installed, but its controller does not answer", version.value_or("Slurm")),
            "if this is meant to be a cluster's node, look at \"scontrol ping\""};
  return {"Slurm", Verdict::yes, fmt::format("{}, {}", version.value_or("?"), first_line(*nodes)), ""};
}

// What an mpirun says about itself: "mpirun (Open MPI) 4.1.4", "HYDRA build details:\n    Version: 4.0.2".
std::string family_of(const std::string& words) {
  const std::string first = first_line(words);
  const auto last_word = [](const std::string& line) { return line.substr(line.rfind(' ') + 1); };
  if (first.find("Open MPI") != std::string::npos || first.find("OpenRTE") != std::string::npos)
    return "Open MPI " + last_word(first);
  if (!first.starts_with("HYDRA")) return first;
  for (const auto line : split(words, '\n'))
    if (trim(line).starts_with("Version:")) return "MPICH " + last_word(std::string(trim(line)));
  return "MPICH";
}

// Several families may be installed side by side, under names with a suffix.
Check mpi() {
  std::vector<std::string> found;
  for (const char* program : {"mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra", "jsrun"})
    if (const auto words = answer_of({program, "--version"}); words && !words->empty())
      if (const auto family = family_of(*words); std::find(found.begin(), found.end(), family) == found.end())
        found.push_back(family);
  if (found.empty()) return {"MPI", Verdict::absent, "none found; Longship needs none", ""};
  return {"MPI", Verdict::yes, join(found, ", "), ""};
}

Check gpus() {
  if (const auto line =
          answer_of({"nvidia-smi", "--query-gpu=count,name,driver_version", "--format=csv,noheader"}))
    return {"GPUs", Verdict::yes, first_line(*line), ""};
  if (fs::exists("/dev/nvidiactl"))
    return {"GPUs", Verdict::no, "NVIDIA devices, but nvidia-smi does not answer",
            "check that driver and nvidia-smi fit"};
  if (fs::exists("/dev/kfd")) return {"GPUs", Verdict::yes, "AMD (/dev/kfd)", ""};
  return {"GPUs", Verdict::absent, "none", ""};
}

Check builder() {
  if (find_program("mmdebstrap"))
    return {"mmdebstrap", Verdict::yes, "there: base images can be made here", ""};
  return {"mmdebstrap", Verdict::absent, "not installed: base images have to be imported or copied", ""};
}

Check python() {
  if (const auto line = answer_of({"python3", "--version"})) return {"python3", Verdict::yes, *line, ""};
  return {"python3", Verdict::absent, "not outside of images", ""};
}

Check memory() {
  struct sysinfo about = {};
  ::sysinfo(&about);
  const auto unit = static_cast<std::uint64_t>(about.mem_unit);
  return {"memory", Verdict::yes,
          fmt::format("{} in all, {} CPUs", formats::human_bytes(about.totalram * unit),
                      ::sysconf(_SC_NPROCESSORS_ONLN)),
          ""};
}

fs::path nearest_existing(fs::path path) {
  while (!fs::exists(path) && path.has_relative_path()) path = path.parent_path();
  return path;
}

Check room_in(const std::string& name, const fs::path& path, std::uint64_t wanted,
              const std::string& remedy) {
  struct statvfs about = {};
  const fs::path there = nearest_existing(path);
  if (::statvfs(there.c_str(), &about) != 0)
    return {name, Verdict::no, Error::from_errno(errno, "{}", path.string()).what(), remedy};
  const std::uint64_t available = std::uint64_t{about.f_bavail} * about.f_frsize;
  if (::access(there.c_str(), W_OK) != 0)
    return {name, Verdict::no, fmt::format("{} may not be written to", there.string()), remedy};
  return {name, available < wanted ? Verdict::no : Verdict::yes,
          fmt::format("{} left in {}", formats::human_bytes(available), path.string()),
          available < wanted ? remedy : ""};
}

}  // namespace

std::vector<Check> check_host() {
  constexpr std::uint64_t gigabyte = 1'000'000'000;
  std::vector<Check> checks = of_boxes();
  add_engines(checks);
  checks.push_back(kernel());
  checks.push_back(cgroups());
  checks.push_back(slurm());
  checks.push_back(mpi());
  checks.push_back(gpus());
  checks.push_back(memory());
  checks.push_back(room_in("shared memory", "/dev/shm", gigabyte / 4, "ask for a larger /dev/shm, a tmpfs"));
  checks.push_back(room_in("image store", store::default_location(), 5 * gigabyte,
                           "set LONGSHIP_STORE to a directory with more room"));
  const char* temporary = std::getenv("TMPDIR");
  checks.push_back(room_in("temporary files", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp",
                           gigabyte, "set TMPDIR to a directory with more room"));
  checks.push_back(builder());
  checks.push_back(python());
  return checks;
}

bool can_run_boxes(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.name == "boxes" && check.verdict == Verdict::yes;
  });
}

}  // namespace longship::cli
