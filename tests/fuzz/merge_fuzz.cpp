// SPDX-License-Identifier: Apache-2.0
// Members in any order, of any type, over and through each other: the merge refuses them with an Error, or
// makes a SquashFS file that can be read whole. Bytes of the input: a member each, kind and name and link out
// of few, so that names meet; 255 begins the next layer down.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/fd.h"
#include "fuzz/input.h"
#include "image/merge.h"
#include "image/squashfs_writer.h"

namespace {

using namespace longship;
using namespace longship::image;

constexpr std::array<const char*, 12> names = {"",      "a",   "b",     "c",   "a/a", "a/b",
                                               "a/b/c", "b/a", "b/a/c", "c/a", "l/x", "l"};
constexpr std::array kinds = {Kind::file,   Kind::directory, Kind::symlink,  Kind::hard_link, Kind::fifo,
                              Kind::socket, Kind::device,    Kind::whiteout, Kind::opaque};

class FuzzedLayer final : public Layer {
 public:
  explicit FuzzedLayer(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::string name() const override { return "fuzz"; }
  void read(MemberSink& sink) override {
    for (std::size_t i = 0; i + 2 < bytes_.size(); i += 3) {
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes_[i + at]); };
      Member member;
      member.kind = kinds[byte(0) % kinds.size()];
      member.path = names[byte(1) % names.size()];
      if (member.path.empty() && member.kind != Kind::directory && member.kind != Kind::opaque) continue;
      if (member.kind == Kind::hard_link) member.link = names[byte(2) % names.size()];
      if (member.kind == Kind::symlink) member.link = std::string("../") + names[byte(2) % names.size()];
      if (member.kind == Kind::file) member.size = byte(2);
      const std::string content(member.size, 'x');
      MemorySource source(content);
      sink.add(member, source);
    }
  }

 private:
  std::string_view bytes_;
};

class Checking final : public MemberSink {
 public:
  void add(const Member& member, ByteSource& content) override {
    if (member.path != normal_path(member.path)) std::abort();
    if (member.kind == Kind::file && read_rest(content, 256).size() != member.size) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Fd file(::memfd_create("image", MFD_CLOEXEC));
  auto rest = fuzz::text_of(data, size);
  try {
    SquashfsWriter writer(file.get());
    Merge merge(writer);
    while (!rest.empty()) {
      FuzzedLayer layer(fuzz::take_until(rest, "\xff"));
      merge.add_layer(layer);
    }
    static_cast<void>(merge.finish());
  } catch (const Error&) {
    return 0;
  }
  Checking sink;  // an Error that leaves here is a fault: we wrote the file ourselves
  squashfs_layer("/proc/self/fd/" + std::to_string(file.get()), false)->read(sink);
  return 0;
}
