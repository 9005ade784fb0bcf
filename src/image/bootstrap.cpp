// SPDX-License-Identifier: Apache-2.0
#include "bootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/say.h"
#include "base/text.h"
#include "make.h"
#include "package_sources.h"
#include "program_source.h"

namespace longship::image {
namespace {

constexpr std::string_view keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

std::string release_in(const std::string& system) {
  const auto colon = system.find(':');
  const std::string release = colon == std::string::npos ? "" : system.substr(colon + 1);
  const bool word = !release.empty() && std::all_of(release.begin(), release.end(),
                                                    [](unsigned char c) { return std::islower(c) != 0; });
  if (!system.starts_with("debian:") || !word)
    throw Error(Failure::usage, "\"{}\" cannot be bootstrapped: only Debian can, as \"debian:bookworm\"",
                printable(system));
  return release;
}

void require_package_names(const std::vector<std::string>& packages) {
  for (const auto& package : packages) {
    const bool fine = !package.empty() && std::all_of(package.begin(), package.end(), [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 ||
             std::string_view("+-.:=~/").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (!fine || package.front() == '-')
      throw Error(Failure::usage, "\"{}\" is not the name of a package", printable(package));
  }
}

// "user:100000:65536", where user may be a number.
bool has_subordinate_ids(const char* file) {
  if (::access(file, R_OK) != 0) return false;
  const std::string uid = std::to_string(::getuid());
  const char* user = std::getenv("USER");
  const std::string text = read_file(file, 16u << 20);
  for (const auto line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() == 3 && (fields[0] == uid || (user != nullptr && fields[0] == user))) return true;
  }
  return false;
}

MachineForBootstrap this_machine() {
  return {.root = ::geteuid() == 0,
          .subordinate_ids = has_subordinate_ids("/etc/subuid") && has_subordinate_ids("/etc/subgid") &&
                             find_program("newuidmap") && find_program("newgidmap"),
          .fakechroot = find_program("fakechroot") && find_program("fakeroot")};
}

std::vector<std::string> sources(const Bootstrap& wish, const std::string& release) {
  if (!wish.mirror.empty()) return {"deb " + wish.mirror + " " + release + " main"};
  const auto found = apt_lines(sources_for(release, sources_of_this_machine(), release_of_this_machine()));
  if (found.empty())
    throw Error(Failure::impossible,
                "apt on this machine has no Debian sources to take {} from: give --mirror", release);
  return found;
}

std::vector<std::string> arguments(const Bootstrap& wish, const std::string& mode) {
  const std::string release = release_in(wish.system);
  std::vector<std::string> words;
  // As root mmdebstrap mounts /proc and /dev in the new system. In a mount namespace of their own they are
  // gone with its processes, however those end, and nobody who cleans up meets them.
  if (mode == "root") words = {"unshare", "--mount", "--propagation=private", "--"};
  words.insert(words.end(), {"mmdebstrap", "--mode=" + mode, "--variant=minbase", "--format=tar"});
  words.push_back("--keyring=" + std::string(keyring));
  // Manuals, translations and documentation are read elsewhere; copyright files must stay.
  for (const char* option :
       {"path-exclude=/usr/share/man/*", "path-exclude=/usr/share/info/*", "path-exclude=/usr/share/locale/*",
        "path-include=/usr/share/locale/locale.alias", "path-exclude=/usr/share/doc/*",
        "path-include=/usr/share/doc/*/copyright"})
    words.push_back(std::string("--dpkgopt=") + option);
  if (!wish.packages.empty()) words.push_back("--include=" + join(wish.packages, ","));
  // mmdebstrap leaves the maker's own behind. Boxes bind theirs there.
  words.emplace_back("--customize-hook=rm -f \"$1\"/etc/hostname && : > \"$1\"/etc/resolv.conf");
  words.push_back(release);
  words.emplace_back("-");
  for (auto& line : sources(wish, release)) words.push_back(std::move(line));
  return words;
}

Environment environment_for(const std::string& mode, const store::Aside& work) {
  Environment environment = current_environment();
  environment["PATH"] += ":/usr/sbin:/sbin";  // ordinary users lack them, dpkg needs them
  environment["LC_ALL"] = "C.UTF-8";
  // In the store what a killed process leaves behind is found again. With subordinate ids the new root must
  // be able to enter the directory, which is not so beneath a home; and it could not be removed by us either.
  if (mode != "unshare") environment["TMPDIR"] = work.directory().string();
  return environment;
}

}  // namespace

std::string bootstrap_mode(const MachineForBootstrap& machine) {
  if (machine.root) return "root";
  if (machine.subordinate_ids) return "unshare";
  if (machine.fakechroot) return "fakechroot";
  throw Error(Failure::impossible,
              "bootstrapping without root needs the packages fakechroot and fakeroot, or a range for you in "
              "/etc/subuid "
              "and /etc/subgid");
}

store::Image bootstrap(store::Store& store, const Bootstrap& wish, Progress& progress) {
  store::validate_name(wish.name);
  (void)release_in(wish.system);
  require_package_names(wish.packages);
  if (!find_program("mmdebstrap"))
    throw Error(Failure::impossible, "bootstrapping needs mmdebstrap: install the package of that name");
  const std::string mode = bootstrap_mode(this_machine());
  explain("mmdebstrap works in mode {}", mode);
  return within("cannot bootstrap " + wish.system, [&] {
    const store::Aside work = store.aside();
    progress.begin("installing packages", 0, "");
    std::uint64_t done = 0;
    Layers layers;
    layers.push_back(tar_layer({.name = "mmdebstrap",
                                .open =
                                    [&] {
                                      return std::make_unique<ProgramSource>(
                                          "mmdebstrap", Command{.arguments = arguments(wish, mode),
                                                                .environment = environment_for(mode, work),
                                                                .directory = {}});
                                    },
                                .digest = {},
                                .diff_id = {},
                                .repeatable = false,
                                .progress =
                                    [&](std::size_t bytes) {
                                      if (done == 0) progress.end(), progress.begin("compressing", 0, "B");
                                      progress.update(done += bytes);
                                    }}));
    store::Image image;
    image.name = wish.name;
    image.origin = "bootstrap " + wish.system;
    if (!wish.packages.empty()) image.origin += " with " + join(wish.packages, ", ");
    image.config.environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    image.config.command = {"/bin/bash"};
    image = make_image(store, std::move(image), std::move(layers));
    progress.end();
    return image;
  });
}

}  // namespace longship::image
