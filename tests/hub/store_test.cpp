// SPDX-License-Identifier: Apache-2.0
#include "hub/store.h"

#include "base/file.h"
#include "expect.h"
#include "failing_disk.h"
#include "hub/describe.h"
#include "hub/schema.h"
#include "world.h"

namespace longship::hub {
namespace {

using message::Outcome;
using testing::HasSubstr;
using testing::IsEmpty;

// All that a person can see, as text: the same before and after a restart.
std::string picture(const State& state, Moment now) {
  std::string text;
  Describer describer(state, now);
  for (JobIndex index = 0; index < state.job_count(); ++index)
    text += formats::dump_json(describer.whole_job(index, {})) + "\n";
  for (const auto& site : state.sites())
    text += site.record.name + " " + std::to_string(site.record.seen) + site.record.text + "\n";
  for (const auto& [hash, token] : state.tokens())
    text += hash + token.user + token.site + formats::dump_json(describer.token(token)) + "\n";
  return text;
}

void silence_sites(World& world) {
  for (auto link = world.state.links.begin(); link != world.state.links.end();
       link = world.state.links.begin())
    world.happen(LinkDown{link->first});
}

void eventful_day(World& world) {
  const auto link = world.connect("here");
  world.submit(job_json("bulk"), 50);
  world.submit(job_json("digits", "\"needs\": {\"nodes\": 2}, \"retry\": {\"crashes\": 2}"));
  world.start(link, "bulk-1.1");
  message::Ended ended;
  ended.attempt = message::AttemptId::parse("bulk-1.1");
  ended.outputs = {{"model.pt", 77}, {"ö \"x\"", 1}};
  ended.metrics.step = 9;
  ended.metrics.values = {{"loss", 0.25}};
  world.tell(link, {ended});
  world.end(link, "bulk-2.1", Outcome::failed);
  world.end(link, "digits-1.1", Outcome::lost);
  world.change("bulk-3", Verb::cancel);
  world.change("bulk-50", Verb::hold);
  world.ask(AddSite{"there", "me@login", "", "", 22});
  world.ask(AddToken{"bob", "clic"});
  world.ask(AddToken{"eve", ""});
  for (const auto& [hash, token] : world.state.tokens())
    if (token.user == "bob") world.happen(TokensUsed{{hash}});
  world.revoke_tokens("eve");
}

TEST(StoreTest, EverythingIsThereAfterARestart) {
  const TemporaryDirectory directory;
  World before;
  {
    Store store(directory.path() / "hub.db");
    store.load(before.state);
    eventful_day(before);
    store.write(before.state);
    before.state.committed();
    before.change("bulk-4", Verb::cancel);
    store.write(before.state);
    before.state.committed();
  }
  silence_sites(before);
  World after;
  Store store(directory.path() / "hub.db");
  store.load(after.state);
  EXPECT_THAT(invariants(after.state), IsEmpty());
  EXPECT_EQ(picture(after.state, after.now), picture(before.state, before.now));
  EXPECT_EQ(store.notes_of(after.state.find_job("bulk-3")).size(), 1u);
  EXPECT_EQ(after.submit(job_json("bulk")), "bulk-51");
}

TEST(StoreTest, AnIdempotencyKeyOutlivesARestart) {
  const TemporaryDirectory directory;
  Submit submit;
  submit.job = job_json();
  submit.key = "once";
  {
    World world;
    Store store(directory.path() / "hub.db");
    store.load(world.state);
    world.ask(submit);
    store.write(world.state);
  }
  World world;
  Store store(directory.path() / "hub.db");
  store.load(world.state);
  EXPECT_EQ(world.ask(submit).body, "{\"jobs\":[\"digits-1\"]}");
  EXPECT_EQ(world.state.job_count(), 1u);
}

TEST(StoreTest, ANewerSchemaIsLeftAlone) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "hub.db";
  { Store store(file); }
  sqlite3* database = nullptr;
  sqlite3_open(file.c_str(), &database);
  sqlite3_exec(database, "UPDATE schema_version SET version = 99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_THAT(message_of([&] { Store store(file); }),
              HasSubstr("a newer longship wrote it (schema 99, this one knows 2)"));
}

TEST(StoreTest, TokensOfTheFirstSchemaAreKept) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "hub.db";
  sqlite3* database = nullptr;
  sqlite3_open(file.c_str(), &database);
  for (const auto* step : {schema_steps[0], "CREATE TABLE schema_version (version INTEGER NOT NULL)",
                           "INSERT INTO schema_version VALUES (1)",
                           "INSERT INTO token VALUES ('abcdefabcdefabcd', 'bob', 'clic', '')"})
    ASSERT_EQ(sqlite3_exec(database, step, nullptr, nullptr, nullptr), SQLITE_OK) << step;
  sqlite3_close(database);
  World world;
  Store store(file);
  store.load(world.state);
  EXPECT_EQ(
      world.ask(ListTokens{}).body,
      R"({"tokens":[{"id":"abcdefabcdef","user":"bob","team":"clic","site":"","added":null,"used":null}]})");
}

TEST(StoreTest, AFileThatIsNoDatabaseIsNamed) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "hub.db", std::string(4096, 'x'));
  EXPECT_THAT(message_of([&] { Store store(directory.path() / "hub.db"); }),
              HasSubstr("hub.db: file is not a database"));
}

TEST(StoreTest, RolledBackIsAsIfNothingHadHappened) {
  World world;
  const auto link = world.connect("here");
  world.submit(job_json("bulk"), 10);
  world.start(link, "bulk-1.1");
  world.ask(AddToken{"eve", ""});
  world.ask(AddToken{"kim", ""});
  world.state.committed();
  const auto before = picture(world.state, world.now);
  world.end(link, "bulk-1.1", Outcome::finished);
  world.submit(job_json("bulk"), 5);
  world.submit(job_json("other"));
  world.change("bulk-2", Verb::cancel);
  world.change("bulk-12", Verb::cancel);
  world.ask(AddToken{"bob", ""});
  world.revoke_tokens("bob");
  world.revoke_tokens("eve");
  for (const auto& [hash, token] : world.state.tokens())
    if (token.user == "kim") world.happen(TokensUsed{{hash}});
  world.ask(AddSite{"there", "", "", "", 0});
  world.state.roll_back();
  EXPECT_THAT(invariants(world.state), IsEmpty());
  EXPECT_EQ(picture(world.state, world.now), before);
  EXPECT_EQ(world.submit(job_json("bulk")), "bulk-11");
}

// The n-th write or sync fails, for n = 1, 2, 3 … until none is left: what was acknowledged is there after a
// restart, what was not is not, and the same hub goes on when the disk is well again.
void fail_everywhere(int code, FailingDisk::How how) {
  bool any = true;
  for (int n = 1; any; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 2000);
    const TemporaryDirectory directory;
    World world;
    std::string acknowledged;
    {
      FailingDisk disk;
      Store store(directory.path() / "hub.db", {.vfs = "failing", .sync = true});
      store.load(world.state);
      disk.fail_at(n, code, how);
      const auto attempt = [&] {
        try {
          store.write(world.state);
          world.state.committed();
          acknowledged = picture(world.state, world.now);
        } catch (const Error&) {
          world.state.roll_back();
          EXPECT_THAT(invariants(world.state), IsEmpty());
          EXPECT_EQ(acknowledged, picture(world.state, world.now));
        }
      };
      attempt();
      for (int i = 0; i < 3; ++i) {
        world.submit(
            job_json("a" + std::to_string(i), "\"env\": {\"X\": \"" + std::string(3000, 'x') + "\"}"), 3);
        world.change("a" + std::to_string(i) + "-2", Verb::cancel);
        attempt();
      }
      any = disk.has_failed();
      disk.recover();
      world.submit(job_json("well-again"));
      attempt();
      EXPECT_NE(world.state.find_job("well-again-1"), none) << "the hub goes on";
    }
    World after;
    Store store(directory.path() / "hub.db");
    store.load(after.state);
    EXPECT_THAT(invariants(after.state), IsEmpty());
    EXPECT_EQ(acknowledged, picture(after.state, after.now));
  }
}

TEST(StoreTest, AFullDiskLosesNothingThatWasAcknowledged) {
  fail_everywhere(SQLITE_FULL, FailingDisk::How::from_then_on);
}

TEST(StoreTest, AWriteThatFailsOnceLosesNothingThatWasAcknowledged) {
  fail_everywhere(SQLITE_IOERR_WRITE, FailingDisk::How::once);
}

TEST(StoreTest, AFullDiskIsSaidInASentence) {
  const TemporaryDirectory directory;
  World world;
  FailingDisk disk;
  Store store(directory.path() / "hub.db", {.vfs = "failing", .sync = true});
  store.load(world.state);
  world.submit();
  disk.fail_at(1, SQLITE_FULL, FailingDisk::How::from_then_on);
  EXPECT_THAT(message_of([&] { store.write(world.state); }),
              HasSubstr("the disk that holds the hub's store is full"));
}

}  // namespace
}  // namespace longship::hub
