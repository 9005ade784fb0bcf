// SPDX-License-Identifier: Apache-2.0
#include "head_start.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "squashfs_path.h"

namespace longship::box {
namespace {

// Of this machine's architecture: no other program could be run.
#if defined(__x86_64__)
constexpr std::array loaders = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"};
#elif defined(__aarch64__)
constexpr std::array loaders = {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"};
#elif defined(__powerpc64__)
constexpr std::array loaders = {"/lib64/ld64.so.2", "/lib/ld-musl-powerpc64le.so.1"};
#else
constexpr std::array<const char*, 0> loaders = {};
#endif

constexpr std::array directories_of_programs = {"/usr/local/bin/", "/usr/bin/", "/bin/"};
constexpr std::uint64_t most_of_one = 3u << 20;  // bytes of a file
constexpr std::size_t most_blocks = 32;

std::vector<std::string> places_of(const std::string& command) {
  if (command.empty()) return {};
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> places;
  places.reserve(directories_of_programs.size());
  for (const char* directory : directories_of_programs) places.push_back(directory + command);
  return places;
}

// A file's blocks in the order in which a loader comes to them: the head tells where all else is, data that
// is to be relocated is at the end.
std::vector<std::uint64_t> order_of(std::uint64_t size, std::uint64_t block) {
  const std::uint64_t count = (std::min(size, most_of_one) + block - 1) / block;
  std::vector<std::uint64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (count > 2) std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

class Reader {
 public:
  Reader(int image, std::shared_ptr<BlockCache> blocks, const std::atomic<bool>& over)
      : image_(image, "", std::move(blocks)), over_(over) {}

  // Nothing of it, if it is not there.
  std::string unpack(std::string_view path) {
    auto found = find_file(image_, path);
    if (!found || !S_ISREG(found->inode.base.mode)) return {};
    const std::uint64_t block = image_.get()->sb.block_size;
    for (const auto number : order_of(found->inode.xtra.reg.file_size, block)) {
      if (over_ || !prepare_content(image_, found->inode, number * block)) break;
      ::sched_yield();  // others who have a core for a moment only, and whom the box waits for, come first
    }
    return found->path;
  }

 private:
  SquashFs image_;
  const std::atomic<bool>& over_;
};

}  // namespace

HeadStart::HeadStart(int image, std::string command) : blocks_(std::make_shared<BlockCache>(most_blocks)) {
  try {
    thread_ = std::thread([this, image, command = std::move(command)] {
      work(image, command);
      at_work_ = false;
    });
  } catch (const std::system_error&) {
    at_work_ = false;  // no more threads are allowed: then it is unpacked when it is asked for
  }
}

HeadStart::~HeadStart() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
}

void HeadStart::work(int image, const std::string& command) {
  const sched_param ordinary = {};
  ::sched_setscheduler(0, SCHED_OTHER, &ordinary);  // a box may be urgent; this is only of use to it
  try {
    Reader reader(image, blocks_, over_);
    for (const char* table : {"/etc/passwd", "/etc/group"}) reader.unpack(table);
    for (const auto& place : places_of(command))
      if (!reader.unpack(place).empty()) break;
    for (const char* loader : loaders) {
      const std::string found = reader.unpack(loader);
      if (found.empty()) continue;
      reader.unpack(found.substr(0, found.rfind('/')) + "/libc.so.6");  // glibc's are always neighbours
      break;
    }
  } catch (const std::exception&) {  // a damaged image, or no memory: who asks will be told
  }
}

}  // namespace longship::box
