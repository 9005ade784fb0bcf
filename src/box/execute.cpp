// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "box.h"
#include "own_program.h"

namespace longship::box {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Returns only if it did not work; errno tells why.
void try_file(const std::string& path, const std::vector<std::string>& words, char** environment) {
  if (leads_to_own_program(path)) {
    complain(
        fmt::format("{} leads to Longship's own program through /proc, which is refused", printable(path)));
    ::_exit(126);
  }
  ::execve(path.c_str(), pointers(words).data(), environment);
}

// A script without "#!" is the shell's, as with execvp.
void run_by_shell(const std::string& path, const std::vector<std::string>& arguments, char** environment) {
  std::vector<std::string> words = {"/bin/sh", path};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  try_file("/bin/sh", words, environment);
}

void try_path(const std::string& path, const std::vector<std::string>& arguments, char** environment) {
  try_file(path, arguments, environment);
  if (errno == ENOEXEC) run_by_shell(path, arguments, environment);
}

// As execvp: a program that may not be executed is passed over, but remembered.
int try_all(const std::vector<std::string>& arguments, const Environment& environment, char** words) {
  const std::string& name = arguments[0];
  if (name.find('/') != std::string::npos) {
    try_path(name, arguments, words);
    return errno;
  }
  int result = ENOENT;
  const auto path = environment.find("PATH");
  for (const auto directory : split(path == environment.end() ? std::string_view() : path->second, ':')) {
    try_path((directory.empty() ? std::string(".") : std::string(directory)) + "/" + name, arguments, words);
    if (errno != ENOENT && errno != ENOTDIR) result = errno;
    if (result != ENOENT && result != EACCES) break;
  }
  return result;
}

}  // namespace

void execute(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> assignments;
  assignments.reserve(environment.size());
  for (const auto& [name, value] : environment) assignments.push_back(name + "=" + value);
  const int number = arguments.empty() || arguments[0].empty()
                         ? ENOENT
                         : try_all(arguments, environment, pointers(assignments).data());
  const std::string name = arguments.empty() || arguments[0].empty() ? "\"\"" : printable(arguments[0]);
  const bool in_box = environment.contains("LONGSHIP_IN_BOX");  // launch starts ranks without one, too
  if (number == ENOENT && name.find('/') == std::string::npos)
    complain(fmt::format("there is no program {} in {}", name, in_box ? "the box's PATH" : "PATH"));
  else
    complain(Error::from_errno(number, "cannot run {}{}", name, in_box ? " in the box" : "").what());
  ::_exit(number == ENOENT ? 127 : 126);
}

}  // namespace longship::box
