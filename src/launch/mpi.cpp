// SPDX-License-Identifier: Apache-2.0
#include "mpi.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "across.h"
#include "allocation.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "engine_start.h"
#include "fit/fit.h"
#include "reception.h"

namespace longship::launch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// What a program says, or nothing if it cannot be run.
std::string said_by(const std::vector<std::string>& arguments) {
  try {
    Pipe pipe = make_pipe();
    Command command;
    command.arguments = arguments;
    command.output = command.errors = pipe.write.get();
    Process process(command);
    pipe.write.reset();
    std::string text;
    char part[4096];
    for (ssize_t size = 0; (size = ::read(pipe.read.get(), part, sizeof part)) > 0 && text.size() < 65536;)
      text.append(part, static_cast<std::size_t>(size));
    (void)process.wait(5s);
    return text;
  } catch (const Error&) {
    return {};
  }
}

std::string readable(std::string_view family) {
  return family == "openmpi" ? "Open MPI" : family == "mpich" ? "MPICH" : "an MPI";
}

// --- in an allocation

std::string plugin_for(const std::string& family) {
  const auto wanted = fit::pmi_of(family);
  if (wanted.empty()) return {};  // the site's own choice
  const auto offered = pmi_of_this_host();
  if (offered.empty() || fit::offers(offered, wanted)) return std::string(wanted);
  throw Error(
      Failure::impossible,
      "the image's {} needs a launcher that speaks {}, and srun offers only {}: use an image with {}, or "
      "ask the centre for Slurm's {} plugin",
      readable(family), wanted, join(offered, ", "), family == "openmpi" ? "MPICH" : "Open MPI", wanted);
}

// --- on a plain machine

// The host's launcher of that family; any, if the family is not known. Empty: there is none.
std::string mpiexec_here(const std::string& wanted, std::string& family) {
  for (const char* name : {"mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.hydra", "mpiexec.mpich"}) {
    family = detail::family_in(said_by({name, "--version"}));
    if (!family.empty() && (wanted.empty() || family == wanted)) return name;
  }
  return {};
}

template <class... More>
void add(std::vector<std::string>& words, More&&... more) {
  (words.emplace_back(std::forward<More>(more)), ...);
}

// `longship box` with all that the plan's box has, and the helper.
std::vector<std::string> box_around(const Plan& plan, const std::vector<std::string>& helper) {
  const auto& spec = plan.box->spec;
  std::vector<std::string> words = {helper.at(0), "box"};
  const auto bind = [&](const fs::path& from, const fs::path& to, bool read_only) {
    add(words, "--bind", from.string() + ":" + to.string() + (read_only ? ":ro" : ""));
  };
  std::error_code hidden;  // what one may not see is not there
  for (const auto& one : spec.binds)
    if (!one.optional || fs::exists(one.from, hidden)) bind(one.from, one.to, one.read_only);
  bind(fs::path(helper.at(0)).parent_path(), helper_in_the_box, true);
  for (const auto& [name, value] : plan.box->environment) add(words, "--env", name + "=" + value);
  if (!spec.home) words.emplace_back("--no-home");
  if (spec.private_tmp) words.emplace_back("--private-tmp");
  if (spec.writable != box::Writable::no) words.emplace_back("--writable");
  if (!spec.upper.empty()) add(words, "--writable-on", spec.upper.string());
  if (!spec.working_directory.empty()) add(words, "--cwd", spec.working_directory);
  add(words, spec.root.string(), "--");
  return words;
}

Result run_by_mpiexec_in_the_box(Plan plan, const std::string& family, std::vector<std::string> helper,
                                 Screen& screen, Surroundings& surroundings) {
  const Reception reception;
  const auto mpiexec = detail::mpiexec("mpiexec", family, plan.size(), ::geteuid() == 0);
  if (uses_engine(plan)) {
    auto inner = mpiexec;
    append(inner, helper_inside(helper));
    const auto words = through_engine(plan, helper, inner);
    return run_helpers(plan, {words, reception.socket.get(), reception.name, "mpiexec"}, screen,
                       surroundings);
  }
  auto words = box_around(plan, helper);
  append(words, mpiexec);
  helper[0] = fs::path(helper_in_the_box) / fs::path(helper[0]).filename();
  append(words, helper);
  plan.environment.insert(plan.box->environment.begin(), plan.box->environment.end());
  plan.box.reset();  // the helpers are inside already
  return run_helpers(plan, {words, reception.socket.get(), reception.name}, screen, surroundings);
}

Result run_on_this_machine(const Plan& plan, const std::string& wanted,
                           const std::vector<std::string>& helper, Screen& screen,
                           Surroundings& surroundings) {
  std::string family;
  const auto program = mpiexec_here(wanted, family);
  if (program.empty() && plan.box) {
    explain("no mpiexec of {} here: the image's own starts the ranks", readable(wanted));
    return run_by_mpiexec_in_the_box(plan, wanted, helper, screen, surroundings);
  }
  if (program.empty())
    throw Error(
        Failure::impossible,
        "there is no mpiexec of {} here to start {} ranks: install it, or run the program in an image "
        "that has one",
        readable(wanted), plan.size());
  explain("{} of {} starts the ranks", program, readable(family));
  const Reception reception;
  auto words = detail::mpiexec(program, family, plan.size(), ::geteuid() == 0);
  if (uses_engine(plan)) {
    append(words, through_engine(plan, helper));
    return run_helpers(plan, {words, reception.socket.get(), reception.name}, screen, surroundings);
  }
  append(words, helper);
  return run_helpers(plan, {words, reception.socket.get(), reception.name}, screen, surroundings);
}

// Without an image only the program itself can tell: by the library it is linked with.
std::string family_of_program(const std::string& name) {
  try {
    const auto path = find_program(name);
    if (!path) return {};  // a name that only the ranks' shell will understand
    const auto content = read_file(*path, 256u << 20);
    const auto has = [&](const char* library) { return content.find(library) != std::string::npos; };
    if (has("libmpi.so.40") || has("libmpi.so.20")) return "openmpi";
    if (has("libmpich.so.12") || has("libmpi.so.12")) return "mpich";
  } catch (const Error&) {  // it may be run and not read
  }
  return {};
}

}  // namespace

Result run_mpi(Plan plan, const std::string& mpi, const std::vector<std::string>& helper, Screen& screen,
               Surroundings& surroundings) {
  const auto family = mpi.empty() && !plan.box && !plan.command.empty() ? family_of_program(plan.command[0])
                                                                        : fit::mpi_family(mpi);
  plan.mpi = true;
  if (uses_engine(plan)) check_engine(plan.box->engine);
  if (plan.box) plan.box->spec.join = "mpi-" + make_secret().substr(0, 16);
  if (plan.directory.empty() && !plan.box) plan.directory = fs::current_path();
  if (!current_allocation(current_environment()))
    return run_on_this_machine(plan, family, helper, screen, surroundings);
  if (family.empty())
    explain("which MPI the ranks use is not known: srun's default starts them (SLURM_MPI_TYPE)");
  const auto task = uses_engine(plan) ? through_engine(plan, helper) : helper;
  return run_helpers(plan, {detail::srun_for_mpi(plan, plugin_for(family), task)}, screen, surroundings);
}

std::vector<std::string> pmi_of_this_host() {
  return detail::plugins_in(said_by({"srun", "--mpi=list"}));
}

// "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"
std::vector<std::string> detail::plugins_in(std::string_view list) {
  std::vector<std::string> found;
  for (auto line : split(list, '\n')) {
    if (const auto colon = line.find("available:"); colon != std::string_view::npos)
      line = line.substr(colon + 10);
    for (auto word : split(line, ' ')) {
      word = trim(word);
      while (word.ends_with(',')) word.remove_suffix(1);
      if (word == "pmi2" || word == "pmix" || word.starts_with("pmix_v") || word == "cray_shasta")
        found.emplace_back(word);
    }
  }
  return found;
}

std::vector<std::string> detail::srun_for_mpi(const Plan& plan, std::string_view plugin,
                                              const std::vector<std::string>& helper) {
  std::vector<std::string> command = {
      "srun",
      "--overlap",     // beside whatever else runs in the allocation
      "--overcommit",  // the helpers divide the cores, also where there are fewer than ranks
      "--nodes=" + std::to_string(plan.nodes()),
      "--ntasks=" + std::to_string(plan.size()),
      "--distribution=block",  // ranks of a node follow each other
      "--kill-on-bad-exit=1",
      "--wait=0",
      "--cpu-bind=none",
      "--export=ALL",
  };
  if (std::adjacent_find(plan.ranks.begin(), plan.ranks.end(), std::not_equal_to<>()) == plan.ranks.end())
    command.push_back("--ntasks-per-node=" + std::to_string(plan.ranks[0]));
  if (!plugin.empty()) command.push_back("--mpi=" + std::string(plugin));
  append(command, helper);
  return command;
}

std::string detail::family_in(std::string_view version) {
  if (version.find("Open MPI") != std::string_view::npos || version.find("OpenRTE") != std::string_view::npos)
    return "openmpi";
  if (version.find("HYDRA") != std::string_view::npos || version.find("MPICH") != std::string_view::npos)
    return "mpich";
  return {};
}

std::vector<std::string> detail::mpiexec(const std::string& program, std::string_view family, int ranks,
                                         bool is_root) {
  std::vector<std::string> words = {program, "-n", std::to_string(ranks)};
  if (family == "openmpi") {
    add(words, "--oversubscribe", "--bind-to", "none");
    if (is_root) words.emplace_back("--allow-run-as-root");
  }
  return words;
}

}  // namespace longship::launch
