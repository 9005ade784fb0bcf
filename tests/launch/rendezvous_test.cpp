// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "expect.h"

namespace longship::launch {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

bool connects(std::uint16_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto at = loopback(port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

TEST(Rendezvous, CanBeConnectedToBeforeRankZeroIsThere) {
  const auto bound = bind_rendezvous("127.0.0.1");
  EXPECT_TRUE(connects(bound.at.port));
}

TEST(Rendezvous, MasterPortIsFreeForAFrameworkThatReusesAddresses) {
  const auto bound = bind_rendezvous("127.0.0.1");
  const Fd framework(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(framework.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto at = loopback(bound.at.master_port);
  ASSERT_EQ(::bind(framework.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(framework.get(), 1), 0);
  EXPECT_TRUE(connects(bound.at.master_port));
}

TEST(Rendezvous, AddressThatIsNoneIsNamed) {
  EXPECT_EQ(message_of([] { (void)bind_rendezvous("node1"); }), "node1 is not an IPv4 address");
}

TEST(AddressOfThisNode, IsTheOneThatLeadsToThePeer) {
  EXPECT_EQ(address_of_this_node("", "127.0.0.1"), "127.0.0.1");
}

TEST(AddressOfThisNode, IsThatOfTheChosenInterface) {
  EXPECT_EQ(address_of_this_node("lo", "192.0.2.1"), "127.0.0.1");
}

TEST(AddressOfThisNode, UnknownInterfaceIsNamed) {
  EXPECT_THAT(message_of([] { (void)address_of_this_node("nosuch0", ""); }), testing::HasSubstr("nosuch0"));
}

TEST(AddressOfThisNode, IsFoundWithoutAnyHint) {
  EXPECT_FALSE(address_of_this_node("", "").empty());
}

}  // namespace
}  // namespace longship::launch
