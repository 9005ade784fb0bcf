// SPDX-License-Identifier: Apache-2.0
#include "collective/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "base/file.h"
#include "collective/limits.h"
#include "collective/segment.h"
#include "expect.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;

// Two ranks in one process: each with descriptors of its own for the same arenas.
struct Pair {
  Pair() {
    for (auto& arena : arenas) arena = Memory::create_arena();
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<Fd> copies;
      for (const auto& arena : arenas) copies.emplace_back(::dup(arena.get()));
      memories.push_back(std::make_unique<Memory>(std::move(copies), rank));
    }
  }
  std::size_t blocks() const {
    struct stat status {};
    EXPECT_EQ(::fstat(arenas[0].get(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks);
  }
  Fd arenas[2];
  std::vector<std::unique_ptr<Memory>> memories;
};

TEST(MemoryTest, AnotherRankSeesAndChangesWhatIsThere) {
  Pair pair;
  std::byte* const own = pair.memories[0]->allocate(100'000);
  const auto offset = pair.memories[0]->offset_of(own + 5000, 1000);
  ASSERT_TRUE(offset);
  std::memset(own + 5000, 7, 1000);
  std::byte* const seen = pair.memories[1]->of_rank(0, *offset, 1000);
  EXPECT_EQ(seen[999], std::byte{7});
  seen[0] = std::byte{9};
  EXPECT_EQ(own[5000], std::byte{9});
}

TEST(MemoryTest, WhatIsNotWhollyInItHasNoOffset) {
  Pair pair;
  std::byte* const own = pair.memories[0]->allocate(4096);
  int elsewhere = 0;
  EXPECT_FALSE(pair.memories[0]->offset_of(own + 4000, 97));
  EXPECT_FALSE(pair.memories[0]->offset_of(&elsewhere, sizeof elsewhere));
  EXPECT_FALSE(pair.memories[1]->offset_of(own, 1));
  EXPECT_TRUE(pair.memories[0]->offset_of(own + 4000, 96));
}

TEST(MemoryTest, FreedMemoryGoesBackToTheSystemAndIsUsedAgain) {
  Pair pair;
  std::byte* const first = pair.memories[0]->allocate(1 << 20);
  std::memset(first, 1, 1 << 20);
  EXPECT_GE(pair.blocks(), 2048u);
  const auto offset = pair.memories[0]->offset_of(first, 1);
  EXPECT_TRUE(pair.memories[0]->release(first));
  EXPECT_EQ(pair.blocks(), 0u);
  EXPECT_FALSE(pair.memories[0]->release(first));
  std::byte* const again = pair.memories[0]->allocate(1 << 20);
  EXPECT_EQ(pair.memories[0]->offset_of(again, 1), offset);
  EXPECT_EQ(again[12345], std::byte{0});
}

TEST(MemoryTest, PiecesNeverOverlapAndNeighboursMerge) {
  Pair pair;
  Memory& memory = *pair.memories[0];
  std::mt19937 random(1);
  std::map<std::byte*, std::pair<std::uint64_t, std::size_t>> alive;
  for (int i = 0; i < 400; ++i) {
    if (alive.size() > 20 || (!alive.empty() && random() % 3 == 0)) {
      auto victim = std::next(alive.begin(), static_cast<long>(random() % alive.size()));
      ASSERT_TRUE(memory.release(victim->first));
      alive.erase(victim);
      continue;
    }
    const std::size_t bytes = 1 + random() % 300'000;
    std::byte* const made = memory.allocate(bytes);
    const std::uint64_t at = *memory.offset_of(made, bytes);
    for (const auto& [address, piece] : alive)
      ASSERT_TRUE(at >= piece.first + piece.second || at + bytes <= piece.first);
    alive[made] = {at, bytes};
  }
  for (const auto& [address, piece] : alive) ASSERT_TRUE(memory.release(address));
  EXPECT_EQ(*memory.offset_of(memory.allocate(60 << 20), 1), 0u);  // all of it is one place again
}

TEST(MemoryTest, AViewThatGrowsLeavesTheOldOneValid) {
  Pair pair;
  std::byte* const first = pair.memories[0]->allocate(4096);
  std::byte* const seen = pair.memories[1]->of_rank(0, *pair.memories[0]->offset_of(first, 1), 1);
  std::byte* const large = pair.memories[0]->allocate(std::size_t{200} << 20);
  pair.memories[1]->of_rank(0, *pair.memories[0]->offset_of(large, 1), 1)[0] = std::byte{3};
  EXPECT_EQ(large[0], std::byte{3});
  first[0] = std::byte{4};
  EXPECT_EQ(seen[0], std::byte{4});
}

TEST(MemoryTest, AnOffsetBeyondTheEndIsAnError) {
  Pair pair;
  EXPECT_THAT(message_of([&] { static_cast<void>(pair.memories[1]->of_rank(0, 1 << 30, 1)); }),
              HasSubstr("shared memory of another rank ends at 0"));
}

// A limit on files holds for shared memory; the kernel's own answer would be a signal.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(MemoryTest, ALimitOfFilesIsAnErrorAndNotASignal) {
  Pair pair;
  const FileLimit limit(1 << 20);
  EXPECT_NE(pair.memories[0]->allocate(500'000), nullptr);  // grows by less than it would like to
  EXPECT_THAT(message_of([&] { static_cast<void>(pair.memories[0]->allocate(4 << 20)); }),
              HasSubstr("more than a file may have here, which is 1048576 (ulimit -f)"));
  EXPECT_THAT(message_of([&] { static_cast<void>(Segment::create(4)); }), HasSubstr("ulimit -f"));
  EXPECT_NE(pair.memories[0]->allocate(100'000), nullptr);
}

// Control groups as the kernel shows them, in a directory.
class GroupsTest : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    const auto path = directory_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  TemporaryDirectory directory_;
};

TEST_F(GroupsTest, TheTightestOfAllGroupsCounts) {
  put("job/memory.max", "1000\n");
  put("job/memory.current", "900\n");
  put("job/memory.stat", "anon 500\ninactive_file 300\n");
  put("job/step/memory.max", "max\n");
  put("job/step/memory.current", "900\n");
  const MemoryRoom room = memory_room("0::/job/step\n", directory_.path());
  EXPECT_EQ(room.left, 400u);
  EXPECT_EQ(room.group, (directory_.path() / "job").string());
}

TEST_F(GroupsTest, TheFirstVersionIsKnownToo) {
  put("memory/slurm/memory.limit_in_bytes", "5000\n");
  put("memory/slurm/memory.usage_in_bytes", "6000\n");
  put("cpu/slurm/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(memory_room("3:cpu,cpuacct:/slurm\n2:memory:/slurm/job\n", directory_.path()).left, 0u);
}

TEST_F(GroupsTest, WhatCannotBeReadLimitsNothing) {
  EXPECT_EQ(memory_room("0::/nowhere\nnonsense\n", directory_.path()).left, UINT64_MAX);
  EXPECT_EQ(memory_room("", directory_.path()).left, UINT64_MAX);
}

TEST(MemoryTest, ALimitOfAddressSpaceIsAnError) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer needs the address space itself";
#endif
  Pair pair;
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit now = before;
  now.rlim_cur = std::size_t{1} << 36;
  ::setrlimit(RLIMIT_AS, &now);
  EXPECT_THAT(message_of([&] { static_cast<void>(pair.memories[0]->allocate(std::size_t{1} << 40)); }),
              testing::AnyOf(HasSubstr("ulimit -v"), HasSubstr("the memory limit of this job leaves")));
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(pair.memories[0]->allocate(4096), nullptr);
}

}  // namespace
}  // namespace longship::collective
