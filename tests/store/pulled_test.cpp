// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/digest.h"
#include "store/store.h"

namespace longship::store {
namespace {

class PulledTest : public testing::Test {
 protected:
  Fd keep(const std::string& content) {
    Aside file = store_.aside();
    write_all(file.fd(), content);
    return store_.keep_pulled(formats::digest_of(content), std::move(file));
  }
  bool has(const std::string& content) {
    return static_cast<bool>(store_.pulled(formats::digest_of(content)));
  }

  TemporaryDirectory directory_;
  Store store_{directory_.path() / "store"};
};

TEST_F(PulledTest, WhatIsKeptIsFoundByItsDigest) {
  keep("a layer");
  const Fd found = store_.pulled(formats::digest_of("a layer"));
  ASSERT_TRUE(found);
  EXPECT_EQ(formats::digest_of_rest(found.get()), formats::digest_of("a layer"));
  EXPECT_FALSE(has("another"));
}

TEST_F(PulledTest, GarbageIsWhatNoImageWasMadeFrom) {
  keep("needed");
  keep("not needed");
  Image image;
  image.name = "x";
  image.pulled = {formats::digest_of("needed")};
  store_.add(image, store_.aside());
  EXPECT_EQ(store_.collect_garbage(false), std::string("not needed").size());
  EXPECT_TRUE(has("needed"));
  EXPECT_FALSE(has("not needed"));
  store_.remove("x");
  EXPECT_EQ(store_.collect_garbage(false), std::string("needed").size());
  EXPECT_FALSE(has("needed"));
}

TEST_F(PulledTest, WhatSomebodyHasOpenStays) {
  {
    const Fd held = keep("in use");
    EXPECT_EQ(store_.collect_garbage(false), 0u);
    const Fd read = store_.pulled(formats::digest_of("in use"));
    EXPECT_TRUE(read);
  }
  EXPECT_NE(store_.collect_garbage(false), 0u);
}

std::string content_of(const Aside& file) {
  return read_file(file.path(), 1000);
}

TEST_F(PulledTest, HalfABlobStaysForWhoComesLater) {
  const auto digest = formats::digest_of("a whole blob");
  {
    const Aside half = store_.partial(digest);
    write_all(half.fd(), "a whole");
  }
  const Aside again = store_.partial(digest);
  EXPECT_EQ(content_of(again), "a whole");
}

TEST_F(PulledTest, OnlyOneGoesOnWithAHalfAndTheOtherStartsAnew) {
  const auto digest = formats::digest_of("a whole blob");
  const Aside first = store_.partial(digest);
  write_all(first.fd(), "a wh");
  const Aside second = store_.partial(digest);
  EXPECT_NE(second.path(), first.path());
  EXPECT_EQ(content_of(second), "");
}

TEST_F(PulledTest, AHalfThatBecameWholeIsKeptAndNoHalfAnyMore) {
  const auto digest = formats::digest_of("a whole blob");
  Aside half = store_.partial(digest);
  write_all(half.fd(), "a whole blob");
  const Fd kept = store_.keep_pulled(digest, std::move(half));
  EXPECT_TRUE(has("a whole blob"));
  EXPECT_EQ(content_of(store_.partial(digest)), "");
}

TEST_F(PulledTest, GarbageIsAHalfThatNobodyIsAt) {
  const auto digest = formats::digest_of("a whole blob");
  {
    const Aside half = store_.partial(digest);
    write_all(half.fd(), "a whole");
    EXPECT_EQ(store_.collect_garbage(false), 0u);
  }
  EXPECT_EQ(store_.collect_garbage(false), 7u);
  EXPECT_EQ(content_of(store_.partial(digest)), "");
}

TEST_F(PulledTest, AHalfThatNobodyWentOnWithForAWeekGoesByItself) {
  const auto place = store_.location() / "pulled" / "partial";
  const auto old = formats::digest_of("old"), young = formats::digest_of("young");
  for (const auto& digest : {old, young}) write_all(store_.partial(digest).fd(), "half");
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(place / formats::hex_of(old), now - std::chrono::hours(24 * 8));
  static_cast<void>(store_.partial(formats::digest_of("another")));
  EXPECT_FALSE(std::filesystem::exists(place / formats::hex_of(old)));
  EXPECT_TRUE(std::filesystem::exists(place / formats::hex_of(young)));
}

TEST_F(PulledTest, VerifyRemovesWhatHasChanged) {
  keep("as it was");
  const auto path =
      store_.location() / "pulled" / "sha256" / formats::hex_of(formats::digest_of("as it was"));
  write_file(path, "not as it was");
  EXPECT_TRUE(store_.verify().empty());
  EXPECT_FALSE(has("as it was"));
}

}  // namespace
}  // namespace longship::store
