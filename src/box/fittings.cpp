// SPDX-License-Identifier: Apache-2.0
#include "fittings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/beneath.h"
#include "base/error.h"
#include "base/paths.h"
#include "mounts.h"
#include "place.h"
#include "small_file.h"

namespace longship::box {
namespace {

Fd open_path(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

// apt gives its downloads to a user of their own and, unlike all others, checks that this worked. The file
// lies over the image, not in it: a build does not capture it.
void calm_apt(int image, Additions& additions) {
  const std::string settings = "/etc/apt/apt.conf.d";
  if (find_place(image, settings).exists)
    additions.contents.push_back({settings + "/99longship", "APT::Sandbox::User \"root\";\n"});
}

}  // namespace

Fittings::Fittings(const Spec& spec, const Caller& caller) : caller_(caller), fake_root_(spec.fake_root) {
  for (const char* path : {"/proc", "/sys", "/dev"}) let_in(path, path, false);
  if (spec.private_tmp)
    fittings_.push_back({{}, "a private /tmp", "/tmp", false, true});
  else
    let_in("/tmp", "/tmp", true);
  if (spec.home && caller.home.size() > 1 && caller.home.front() == '/')
    let_in(caller.home, caller.home, true);
  for (const auto& bind : spec.binds) let_in(bind.from, bind.to, bind.optional, bind.read_only);
  if (spec.working_directory.empty() && caller.working_directory.size() > 1 &&
      !covers(caller.working_directory))
    here_ = open_path(caller.working_directory);
  for (const char* path : {"/etc/hosts", "/etc/resolv.conf", "/etc/localtime"}) copy(path);
}

Additions Fittings::additions_to(const std::string& image_path) {
  const Fd image = open_path(image_path);
  let_in_working_directory(image.get());
  Additions additions;
  for (const auto& fitting : fittings_)
    (fitting.directory ? additions.directories : additions.files).push_back(fitting.to);
  additions.contents = std::move(copies_);
  introduce_caller(image.get(), additions);
  if (fake_root_) calm_apt(image.get(), additions);
  return additions;
}

void Fittings::mount_in(const std::string& root, const std::string& proc) const {
  const Fd tree = open_path(root);
  // Links in the image are the image's: they must not lead to a place on the host.
  const auto open_place = [&](const std::string& path) {
    return open_beneath(tree.get(), path, O_PATH | O_CLOEXEC, 0, Links::confine);
  };
  for (const auto& fitting : fittings_)
    within(fmt::format("cannot let {} into the box at {}", fitting.name, fitting.to), [&] {
      make_place_in_tmpfs(tree.get(), fitting);
      const Fd target = open_place(fitting.to);
      const std::string at = path_of(target.get(), proc);
      if (fitting.from)
        bind_mount(path_of(fitting.from.get(), proc), at);
      else
        mount_tmpfs(at, "mode=1777");
      if (!fitting.read_only) return;
      const Fd mounted = open_place(fitting.to);
      make_read_only(path_of(mounted.get(), proc));
    });
}

// Below a private /tmp nothing is there yet; a test's home, or a scratch directory, may well be.
void Fittings::make_place_in_tmpfs(int tree, const Fitting& wanted) const {
  for (const auto& fitting : fittings_) {
    if (fitting.from || &fitting == &wanted || !is_beneath(wanted.to, fitting.to)) continue;
    const Place place = find_place(tree, wanted.to);
    if (place.exists) return;
    for (std::size_t end = place.path.find('/'); end != std::string::npos;
         end = place.path.find('/', end + 1))
      ::mkdirat(tree, place.path.substr(0, end).c_str(), 0755);
    if (wanted.directory)
      ::mkdirat(tree, place.path.c_str(), 0755);
    else
      ::mknodat(tree, place.path.c_str(), S_IFREG | 0644, 0);  // if it failed, opening it tells
  }
}

void Fittings::let_in(const std::string& from, const std::string& to, bool optional, bool read_only) {
  if (!to.starts_with('/'))
    throw Error(Failure::usage, "cannot let {} into the box at \"{}\": that is not an absolute path", from,
                to);
  Fitting fitting = {open_path(from), from, to, read_only, true};
  struct stat about = {};
  if (!fitting.from || ::fstat(fitting.from.get(), &about) != 0) {
    if (optional) return;
    throw Error::from_errno(errno, "cannot let {} into the box", from);
  }
  fitting.directory = S_ISDIR(about.st_mode);
  fittings_.push_back(std::move(fitting));
}

void Fittings::copy(const char* path) {
  if (auto bytes = read_small_file(path)) copies_.push_back({path, std::move(*bytes)});
}

bool Fittings::covers(const std::string& path) const {
  for (const auto& fitting : fittings_)
    if (is_beneath(path, fitting.to)) return true;
  return false;
}

// Not over a directory that the image has: whoever stands in the host's /usr/lib wants the image's.
void Fittings::let_in_working_directory(int image) {
  if (!here_ || find_place(image, caller_.working_directory).exists) return;
  fittings_.push_back({std::move(here_), caller_.working_directory, caller_.working_directory, false, true});
}

void Fittings::introduce_caller(int image, Additions& additions) const {
  if (fake_root_) return;  // root is known everywhere, and a build must not capture the caller's name
  if (auto passwd = passwd_with(read_small_file_in(image, "etc/passwd").value_or(""), caller_))
    additions.contents.push_back({"/etc/passwd", std::move(*passwd)});
  if (auto group = group_with(read_small_file_in(image, "etc/group").value_or(""), caller_))
    additions.contents.push_back({"/etc/group", std::move(*group)});
}

}  // namespace longship::box
