// SPDX-License-Identifier: Apache-2.0
// Asking this machine.
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "answers.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "fit/host_mpi.h"
#include "probe.h"

namespace longship::site {
namespace {

namespace fs = std::filesystem;

// What a program says on both streams, if it is there and ends well and soon.
std::optional<std::string> said(std::vector<std::string> arguments) {
  if (!find_program(arguments[0])) return {};
  Command command;
  command.arguments = std::move(arguments);
  command.environment = current_environment();
  std::erase_if(*command.environment,
                [](const auto& variable) { return variable.first.starts_with("SINFO_"); });
  RunOptions options;
  options.timeout = std::chrono::seconds(20);
  try {
    auto outcome = run(std::move(command), options);
    if (!outcome.ending.ok()) return {};
    return outcome.output + outcome.errors;
  } catch (const Error&) {
    return {};
  }
}

std::uint64_t memory() {
  struct sysinfo about = {};
  std::uint64_t bytes = ::sysinfo(&about) == 0 ? std::uint64_t{about.totalram} * about.mem_unit : 0;
  try {  // where a container or a session has less
    const auto limit = std::stoull(read_file("/sys/fs/cgroup/memory.max", 64));
    bytes = std::min<std::uint64_t>(bytes, limit);
  } catch (const std::exception&) {
  }
  return bytes >> 20 << 20;  // a number that can be read
}

std::optional<std::string> content_of(const fs::path& path) {
  try {
    return read_file(path, 65536);
  } catch (const Error&) {
    return {};
  }
}

int gpus() {
  int count = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/dev", failed)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("nvidia") && name.size() > 6 &&
        name.find_first_not_of("0123456789", 6) == std::string::npos)
      ++count;
  }
  return count;
}

// Found by following what the libraries need, as when they are let into an image.
std::optional<fit::Version> glibc_for_mpi(const Answers& answers) {
  const auto mpi = mpi_of(answers);
  if (!mpi || mpi->library.empty()) return {};
  try {
    const auto wanted = fit::wanted_of(fit::host_mpi(fit::FileTree(), mpi->library, current_environment()));
    return wanted ? std::optional(wanted->glibc) : std::nullopt;
  } catch (const Error&) {  // one that there is no recipe for
    return {};
  }
}

}  // namespace

Answers look() {
  Answers answers;
  utsname about = {};
  ::uname(&about);
  answers.host = about.nodename;
  answers.architecture = about.machine;
  answers.kernel = about.release;
  answers.user = trim(said({"id", "-un"}).value_or(""));
  answers.glibc = trim(said({"getconf", "GNU_LIBC_VERSION"}).value_or(""));
  answers.cores = static_cast<int>(allowed_cores().size());
  answers.memory = memory();
  answers.gpus = gpus();
  for (const auto& [name, value] : current_environment()) answers.environment.emplace(name, value);
  answers.sinfo = said({"sinfo", "-h", "-o", std::string(sinfo_format)});
  if (answers.sinfo) {
    answers.config = said({"scontrol", "show", "config"});
    answers.mpi_plugins = said({"srun", "--mpi=list"});
  }
  answers.mpirun = said({"mpirun", "--version"});
  answers.mpichversion = said({"mpichversion"});
  answers.libraries = said({fs::exists("/sbin/ldconfig") ? "/sbin/ldconfig" : "ldconfig", "-p"});
  answers.mpi_glibc = glibc_for_mpi(answers);
  answers.driver = content_of("/proc/driver/nvidia/version");
  answers.user_namespaces = ::geteuid() == 0 || said({"unshare", "--user", "true"});
  for (const char* engine : {"apptainer", "sarus", "podman-hpc"})
    if (find_program(engine)) answers.engines.emplace_back(engine);
  if (find_program("bsub"))
    answers.other_batch = "LSF";
  else if (find_program("qsub"))
    answers.other_batch = "PBS";
  return answers;
}

}  // namespace longship::site
