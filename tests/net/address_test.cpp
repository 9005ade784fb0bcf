// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <gtest/gtest.h>

#include "expect.h"

namespace longship::net {
namespace {

TEST(AddressTest, PartsOfAnAddressAreFound) {
  const auto address = parse_address("https://hub.example:8470/v1/agent?x=1");
  EXPECT_TRUE(address.tls);
  EXPECT_EQ(address.host, "hub.example");
  EXPECT_EQ(address.port, "8470");
  EXPECT_EQ(address.path, "/v1/agent?x=1");
  EXPECT_EQ(address.authority(), "hub.example:8470");
}

TEST(AddressTest, PortAndPathMayBeLeftOut) {
  EXPECT_EQ(parse_address("http://here").port, "80");
  EXPECT_EQ(parse_address("wss://here").port, "443");
  EXPECT_EQ(parse_address("ws://here").path, "/");
  EXPECT_EQ(parse_address("https://here:443").authority(), "here");
}

TEST(AddressTest, SixthVersionsAddressesHaveBrackets) {
  const auto address = parse_address("http://[::1]:8470/x");
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, "8470");
  EXPECT_EQ(address.authority(), "[::1]:8470");
  EXPECT_EQ(parse_address("http://[::1]").host, "::1");
}

TEST(AddressTest, WhatIsNoAddressIsNamed) {
  EXPECT_EQ(message_of([] { static_cast<void>(parse_address("127.0.0.1:8470")); }),
            "127.0.0.1:8470 is not an address: it begins with http:// or https://");
  for (const auto* wrong :
       {"http://", "http://a b", "http://host:0", "http://host:99999", "http://host:x", "http://user@host",
        "http://host\r\nX: y", "http://host/a\r\nX: y", "http://host/a b"})
    EXPECT_NE(message_of([&] { static_cast<void>(parse_address(wrong)); }).find("expected http://HOST:PORT"),
              std::string::npos)
        << wrong;
}

TEST(AddressTest, OnlyLoopbackIsLoopback) {
  for (const auto* here : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const auto* there : {"0.0.0.0", "10.0.0.1", "127.0.0.1.example", "127.", "example", "::"})
    EXPECT_FALSE(is_loopback(there)) << there;
}

TEST(AddressTest, WhatIsNotPlainIsEncoded) {
  EXPECT_EQ(percent_encode("a b/ü?"), "a%20b%2F%C3%BC%3F");
  EXPECT_EQ(percent_encode("plots/a b.png", true), "plots/a%20b.png");
}

}  // namespace
}  // namespace longship::net
