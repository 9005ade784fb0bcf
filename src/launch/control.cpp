// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/say.h"

namespace longship::launch {
namespace {

// In memory if possible; a disk does as well, since the pages that are mapped are the same.
Fd make_file(std::filesystem::path& path) {
  const char* chosen = std::getenv("TMPDIR");
  for (const std::string directory : {"/dev/shm", chosen != nullptr ? chosen : "", "/tmp"}) {
    if (directory.empty()) continue;
    std::string name = directory + "/longship-control-XXXXXX";
    Fd fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd) continue;
    path = name;
    return fd;
  }
  return {};
}

}  // namespace

Control::Control() {
  fd_ = make_file(file_);
  void* memory = MAP_FAILED;
  if (fd_ && ::ftruncate(fd_.get(), sizeof(ControlPage)) == 0)
    memory = ::mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) {
    explain("ranks cannot be asked for checkpoints: no file to map: {}", std::strerror(errno));
    forget_name();
    return;
  }
  page_ = new (memory) ControlPage;
}

Control::~Control() {
  forget_name();
  if (page_ != nullptr) ::munmap(page_, sizeof(ControlPage));
}

void Control::forget_name() {
  if (!file_.empty()) ::unlink(file_.c_str());
  file_.clear();
}

std::string Control::path_of_descriptor() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get());
}

void Control::ask_for_checkpoint() {
  if (page_ != nullptr) page_->checkpoints_wanted.fetch_add(1, std::memory_order_release);
}

}  // namespace longship::launch
