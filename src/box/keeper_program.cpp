// SPDX-License-Identifier: Apache-2.0
#include "keeper_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace longship::box {
namespace {

std::string inherited(int fd) {
  ::fcntl(fd, F_SETFD, 0);
  return std::to_string(fd);
}

}  // namespace

Keep keep_by_program(const std::string& program, const std::string& command) {
  return [=](Meeting& meeting, int image, const Identity& identity, std::chrono::milliseconds linger) {
    const auto [above, directory, listening] = meeting.descriptors();
    std::vector<std::string> words = {program,
                                      keeper_word,
                                      meeting.name(),
                                      meeting.directory_name(),
                                      inherited(above),
                                      inherited(directory),
                                      inherited(listening),
                                      inherited(image),
                                      std::to_string(identity.ways),
                                      std::to_string(linger.count()),
                                      command};
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    throw Error::from_errno(errno, "cannot run {}", program);
  };
}

}  // namespace longship::box
