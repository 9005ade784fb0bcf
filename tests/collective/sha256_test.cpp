// SPDX-License-Identifier: Apache-2.0
// Vectors: FIPS 180-4 examples, RFC 4231.
#include "collective/sha256.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace longship::collective {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(hex(sha256(bytes(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(bytes("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(bytes(std::string(1'000'000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HmacTest, PublishedVectors) {
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(20, '\x0b')), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(EqualTest, ComparesContentAndLength) {
  EXPECT_TRUE(equal(bytes("abc"), bytes("abc")));
  EXPECT_FALSE(equal(bytes("abc"), bytes("abd")));
  EXPECT_FALSE(equal(bytes("abc"), bytes("ab")));
}

}  // namespace
}  // namespace longship::collective
