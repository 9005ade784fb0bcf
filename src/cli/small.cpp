// SPDX-License-Identifier: Apache-2.0
// bin/longship: static, and so there in a millisecond. It does box and launch itself, which start thousands
// of times on compute nodes; for everything else it hands over to the program that has curl, ISA-L, SQLite
// and the rest.
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "command.h"
#include "installation.h"

namespace longship::cli {
namespace {

bool is_small(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "box" || word == "launch") return true;
    if (!word.starts_with("-")) return false;
  }
  return false;
}

int hand_over(char** words) {
  const auto program = large_program().string();
  // A package carries its own C library, so that it runs where the system's is older.
  const auto loader = (prefix() / "lib" / "bundled" / "ld.so").string();
  if (::access(loader.c_str(), X_OK) == 0) {
    const auto libraries = (prefix() / "lib" / "bundled").string();
    std::vector<std::string> start = {loader, "--library-path", libraries, "--argv0", words[0], program};
    std::vector<char*> arguments;
    for (auto& word : start) arguments.push_back(word.data());
    for (char** word = words + 1; *word != nullptr; ++word) arguments.push_back(*word);
    arguments.push_back(nullptr);
    ::execv(loader.c_str(), arguments.data());
  } else {
    ::execv(program.c_str(), words);
  }
  throw Error::from_errno(errno, "cannot run {}, a part of this installation", program);
}

}  // namespace
}  // namespace longship::cli

int main(int count, char** words) {
  using namespace longship;
  try {
    if (!cli::is_small(count, words)) return cli::hand_over(words);
    cli::Command app("longship", "Longship");
    cli::Context context;
    cli::add_box(app, context);
    cli::add_launch(app, context);
    return cli::run_app(app, context, count, words);
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}
