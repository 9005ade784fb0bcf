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
