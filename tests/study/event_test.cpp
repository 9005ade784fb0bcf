// SPDX-License-Identifier: Apache-2.0
#include "study/event.h"

#include <gtest/gtest.h>

#include <set>

#include "expect.h"

namespace longship::study {
namespace {

std::vector<Event> one_of_each() {
  return {Opened{1, "name", {0, 1}},
          ParameterDefined{3, "lr", real(1e-5, 1, true)},
          ParameterDefined{4, "net", category({"\"a\"", "\"b\""})},
          TrialEnqueued{7, {{"lr", "0.5"}, {"net", "\"b\""}}},
          TrialBegun{8, 12.5, 2, {{3, 0.25}, {4, 1}}},
          Suggested{8, {3, 0.5}},
          Reported{8, 100, -1.5},
          Noted{8, {true, "key", "[1, 2]"}},
          Constrained{8, {0.5, -1}},
          TrialFinished{8, TrialState::complete, {1.5, 2.5}, 13.5},
          StudyNoted{{false, "who", "\"me\""}}};
}

TEST(EventTest, ComesBackFromItsBytes) {
  std::set<std::size_t> kinds;
  for (const auto& event : one_of_each()) {
    const auto bytes = encoded(event);
    EXPECT_EQ(decoded(bytes).index(), event.index());
    EXPECT_EQ(encoded(decoded(bytes)), bytes);
    kinds.insert(event.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Event>);
}

TEST(EventTest, EveryShortenedOneIsAnError) {
  for (const auto& event : one_of_each()) {
    const auto bytes = encoded(event);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_THROW((void)decoded(std::string_view(bytes).substr(0, length)), Error)
          << event.index() << ": " << length;
    EXPECT_EQ(message_of([&] { (void)decoded(bytes + "x"); }), "1 bytes too many");
  }
}

TEST(EventTest, BytesThatAreNoValueOfTheirTypeAreAnError) {
  auto finished = encoded(TrialFinished{8, TrialState::complete, {1.5}, 13.5});
  finished[9] = 5;
  EXPECT_EQ(message_of([&] { (void)decoded(finished); }), "5 where there is nothing above 4");
  auto noted = encoded(Noted{8, {true, "key", "1"}});
  noted[9] = 2;
  EXPECT_EQ(message_of([&] { (void)decoded(noted); }), "2 where there is nothing above 1");
}

TEST(EventTest, UnknownKindIsFromANewerVersion) {
  EXPECT_EQ(message_of([&] { (void)decoded("\x7f"); }),
            "an event of an unknown kind, 127: it was written by a newer version");
}

}  // namespace
}  // namespace longship::study
