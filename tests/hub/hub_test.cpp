// SPDX-License-Identifier: Apache-2.0
#include "hub/hub.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "base/file.h"
#include "expect.h"
#include "formats/digest.h"
#include "hub/ssh_sites.h"
#include "world.h"

namespace longship::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An agent that keeps what it hears.
class Ear final : public AgentLink {
 public:
  void send(std::string frame) override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(message::decode_from_hub(frame));
    wake_.notify_all();
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_.notify_all();
  }
  // Waits for the next message of a kind; those before it are dropped.
  template <class Kind>
  Kind next() {
    std::unique_lock lock(mutex_);
    for (;;) {
      while (at_ < heard_.size())
        if (auto* found = std::get_if<Kind>(&heard_[at_++])) return *found;
      if (wake_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout)
        throw Error("nothing was heard");
    }
  }
  bool closed() {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, std::chrono::seconds(60), [&] { return closed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<message::FromHub> heard_;
  std::size_t at_ = 0;
  bool closed_ = false;
};

class HubTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  Options options_{directory_.path() / "hub", directory_.path() / "images"};
  std::unique_ptr<Hub> hub_ = std::make_unique<Hub>(options_);

  Response ask(Request request) {
    std::promise<Response> promise;
    hub_->perform(owner(), std::move(request),
                  [&](Response response) { promise.set_value(std::move(response)); });
    return promise.get_future().get();
  }
  Caller owner() { return hub_->caller(hub_->owner_token()).value(); }
  std::pair<Hub::LinkId, std::shared_ptr<Ear>> agent(const std::string& site) {
    auto ear = std::make_shared<Ear>();
    const auto link = hub_->connect(owner(), ear);
    message::Hello hello;
    hello.site = site;
    hello.site_file = site_text(site);
    hello.outbox = "box";
    say(link, hello);
    return {link, ear};
  }
  void say(Hub::LinkId link, const message::FromAgent& message) {
    hub_->receive(link, message::encode(message));
  }
  Submit job() {
    Submit submit;
    submit.job = job_json();
    return submit;
  }
};

TEST_F(HubTest, AJobFromSubmissionToCommit) {
  const auto [link, ear] = agent("here");
  EXPECT_EQ(ear->next<message::Welcome>().seen, 0u);
  EXPECT_EQ(ask(job()).body, "{\"jobs\":[\"digits-1\"]}");
  const auto carry = ear->next<message::Carry>();
  ASSERT_EQ(carry.assignments.size(), 1u);
  EXPECT_EQ(job::from_json(carry.assignments[0].job, "x").name, "digits");
  message::Ended ended;
  ended.attempt = carry.assignments[0].attempt;
  say(link, message::Facts{0, {message::Started{ended.attempt, "p1", 1, {}}, ended}});
  EXPECT_EQ(ear->next<message::Seen>().seen, 2u);
  EXPECT_THAT(ask(ShowJob{"digits-1"}).body, HasSubstr("\"state\":\"finished\""));
  hub_.reset();
  hub_ = std::make_unique<Hub>(options_);
  EXPECT_THAT(ask(ShowJob{"digits-1"}).body, HasSubstr("\"state\":\"finished\""));
  EXPECT_THAT(ask(ListJobs{}).body, HasSubstr("\"total\":1"));
}

TEST_F(HubTest, ASecondHubOnTheDirectoryIsAnErrorThatNamesTheFirst) {
  write_file(options_.directory / "hub.json", "{\"url\": \"http://127.0.0.1:8470\", \"pid\": 1}");
  EXPECT_THAT(
      message_of([&] { Hub second(options_); }),
      HasSubstr("another hub (process " + std::to_string(::getpid()) + ", http://127.0.0.1:8470) uses it"));
}

TEST_F(HubTest, TokensAreKeptAsHashesAndTheOwnersFileIsPrivate) {
  struct stat status {};
  ASSERT_EQ(::stat((options_.directory / "token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto body = ask(AddToken{"bob", "clic"}).body;
  const auto token = formats::parse_json(body, "reply").find("token")->text();
  EXPECT_EQ(hub_->caller(token).value().team, "clic");
  EXPECT_FALSE(hub_->caller("ls_wrong").has_value());
  EXPECT_FALSE(hub_->caller("").has_value());
  hub_.reset();
  for (const auto* file : {"hub.db", "hub.db-wal"})
    if (std::filesystem::exists(options_.directory / file)) {
      EXPECT_EQ(read_file(options_.directory / file).find(token), std::string::npos);
    }
  hub_ = std::make_unique<Hub>(options_);
  EXPECT_EQ(hub_->caller(token).value().user, "bob");
}

TEST_F(HubTest, ARevokedTokenIsNobodysAlsoAfterARestart) {
  const auto made = formats::parse_json(ask(AddToken{"bob", "clic"}).body, "reply");
  const auto token = made.find("token")->text();
  const auto caller = hub_->caller(token).value();
  EXPECT_TRUE(hub_->knows(caller));
  EXPECT_TRUE(hub_->knows(owner()));
  EXPECT_EQ(ask(RemoveToken{made.find("id")->text()}).status, 200);
  EXPECT_FALSE(hub_->caller(token).has_value());
  EXPECT_FALSE(hub_->knows(caller));
  hub_.reset();
  hub_ = std::make_unique<Hub>(options_);
  EXPECT_FALSE(hub_->caller(token).has_value());
}

TEST_F(HubTest, BadSubmissionsAreRefusedWithASentence) {
  auto submit = job();
  submit.job = "{\"version\": 1, \"nmae\": \"x\"}";
  EXPECT_EQ(ask(submit).status, 400);
  EXPECT_THAT(ask(submit).body, HasSubstr("did you mean"));
  submit.job = std::string(10 << 20, ' ');
  EXPECT_EQ(ask(submit).status, 413);
  submit = job();
  submit.code.digest = formats::digest_of("never uploaded");
  EXPECT_EQ(ask(submit).status, 409);
  submit.code.digest = "../../etc/passwd";
  EXPECT_EQ(ask(submit).status, 400);
  submit = job();
  submit.count = 0;
  EXPECT_EQ(ask(submit).status, 400);
  EXPECT_EQ(ask(ShowJob{"digits-1"}).status, 404);
}

TEST_F(HubTest, BytesAreUploadedInPartsAndFetchedByAgents) {
  const std::string bytes(100'000, 'b');
  const auto digest = formats::digest_of(bytes);
  EXPECT_EQ(hub_->uploaded(digest), 0u);
  EXPECT_EQ(hub_->upload(digest, 0, bytes.size(), bytes.substr(0, 60'000)), 60'000u);
  EXPECT_THAT(message_of([&] { hub_->upload(digest, 0, bytes.size(), bytes); }),
              HasSubstr("stands at 60000 bytes"));
  hub_.reset();
  hub_ = std::make_unique<Hub>(options_);
  EXPECT_EQ(hub_->uploaded(digest), 60'000u) << "also after a restart";
  EXPECT_FALSE(hub_->has_blob(digest));
  hub_->upload(digest, 60'000, bytes.size(), bytes.substr(60'000));
  EXPECT_TRUE(hub_->has_blob(digest));
  const auto [link, ear] = agent("here");
  ear->next<message::Welcome>();
  say(link, message::Fetch{7, digest, 99'990, 100});
  EXPECT_EQ(ear->next<message::Chunk>().bytes, std::string(10, 'b'));
  say(link, message::Fetch{8, formats::digest_of("other"), 0, 100});
  EXPECT_THAT(ear->next<message::Chunk>().error, HasSubstr("has no blob"));
}

TEST_F(HubTest, DamagedBytesAreThrownAway) {
  const auto digest = formats::digest_of("right");
  EXPECT_THAT(message_of([&] { hub_->upload(digest, 0, 5, "wrong"); }), HasSubstr("another digest"));
  EXPECT_EQ(hub_->uploaded(digest), 0u);
  EXPECT_THAT(message_of([&] { hub_->upload(digest, 0, 5, "too long"); }),
              HasSubstr("more than the 5 bytes"));
  EXPECT_THAT(message_of([&] { hub_->upload("sha256:../x", 0, 5, "x"); }), HasSubstr("is no digest"));
}

TEST_F(HubTest, LogsAreReadFromTheSiteAlsoFromTheirEnd) {
  const auto [link, ear] = agent("here");
  ask(job());
  ear->next<message::Carry>();
  std::promise<Response> promise;
  AskSite tail;
  tail.job = "digits-1";
  tail.name = "output/rank-00000.out";
  tail.offset = static_cast<std::uint64_t>(-4);
  tail.length = 100;
  hub_->perform(owner(), tail, [&](Response response) { promise.set_value(std::move(response)); });
  auto question = ear->next<message::Question>();
  EXPECT_EQ(question.length, 0u);
  say(link, message::Answer{question.id, "", 10, ""});
  question = ear->next<message::Question>();
  EXPECT_EQ(question.offset, 6u);
  say(link, message::Answer{question.id, "", 10, "tail"});
  const auto response = promise.get_future().get();
  EXPECT_EQ(response.body, "tail");
  EXPECT_EQ(response.offset, 6u);
  EXPECT_EQ(response.size, 10u);
  hub_->disconnect(link);
  EXPECT_EQ(ask(tail).status, 503);
}

TEST_F(HubTest, AFrameThatMakesNoSenseEndsTheLink) {
  const auto [link, ear] = agent("here");
  ear->next<message::Welcome>();
  hub_->receive(link, "nonsense");
  EXPECT_TRUE(ear->closed());
}

TEST_F(HubTest, ListenersHearOfJobs) {
  std::promise<std::string> heard;
  std::once_flag once;
  const auto id = hub_->listen([&](std::string_view kind, std::string_view json) {
    if (kind == "job") std::call_once(once, [&] { heard.set_value(std::string(json)); });
  });
  ask(job());
  EXPECT_THAT(heard.get_future().get(), HasSubstr("\"id\":\"digits-1\""));
  hub_->unlisten(id);
}

TEST_F(HubTest, AFailedTransactionIsAsIfNothingHadBeenAskedAndTheHubGoesOn) {
  const auto [link, ear] = agent("here");
  ask(job());
  ear->next<message::Carry>();
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(ask(job()).status, 503);
  EXPECT_THAT(ask(ListJobs{}).body, HasSubstr("\"total\":1"));
  message::Ended ended;
  ended.attempt = message::AttemptId::parse("digits-1.1");
  say(link, message::Facts{0, {ended}});
  EXPECT_TRUE(ear->closed()) << "the agent keeps its facts and says them again";
  ::setrlimit(RLIMIT_FSIZE, &before);
  const auto [again, other] = agent("here");
  EXPECT_EQ(other->next<message::Welcome>().seen, 0u);
  say(again, message::Facts{0, {ended}});
  EXPECT_EQ(other->next<message::Seen>().seen, 1u);
  EXPECT_EQ(ask(job()).body, "{\"jobs\":[\"digits-2\"]}");
  EXPECT_THAT(ask(ShowJob{"digits-1"}).body, HasSubstr("\"state\":\"finished\""));
}

// A program called ssh that is first in PATH.
class FakeSsh : public HubTest {
 protected:
  void write_ssh(const std::string& script) {
    std::filesystem::create_directories(directory_.path() / "bin");
    write_file(directory_.path() / "bin/ssh", "#!/bin/sh\n" + script, 0755);
    ::setenv("PATH", ((directory_.path() / "bin").string() + ":" + path_).c_str(), 1);
  }
  // The first site event that says this.
  std::future<void> hear_of_site(const std::string& text) {
    auto heard = std::make_shared<std::promise<void>>();
    hub_->listen([=, done = std::make_shared<bool>(false)](std::string_view kind, std::string_view json) {
      if (kind == "site" && json.find(text) != std::string_view::npos && !std::exchange(*done, true))
        heard->set_value();
    });
    return heard->get_future();
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  std::string path_ = ::getenv("PATH");
};

TEST_F(FakeSsh, WhatItSaidLastIsTheSitesCondition) {
  write_ssh("echo 'me@login: Permission denied (publickey).' >&2; exit 255\n");
  auto heard = hear_of_site("Permission denied");
  EXPECT_EQ(ask(AddSite{"far", "me@login", "", "", 0}).status, 201);
  EXPECT_EQ(heard.wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(FakeSsh, AnAgentOnItsStdioIsTheSites) {
  message::Hello hello;
  hello.site = "far";
  hello.site_file = site_text("far");
  hello.outbox = "o";
  write_file(directory_.path() / "hello", message::with_length(message::encode(message::FromAgent(hello))));
  write_ssh("exec 3>&1; cat '" + (directory_.path() / "hello").string() + "'; exec cat > '" +
            (directory_.path() / "heard").string() + "'\n");
  auto heard = hear_of_site("\"state\":\"up\"");
  ask(AddSite{"far", "me@login", "", "", 0});
  EXPECT_EQ(heard.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(ask(RemoveSite{"far"}).status, 200);
  hub_.reset();
  message::FrameSplitter frames;
  std::string frame;
  frames.add(read_file(directory_.path() / "heard"));
  ASSERT_TRUE(frames.next(frame));
  EXPECT_TRUE(std::holds_alternative<message::Welcome>(message::decode_from_hub(frame)));
}

TEST(SshSitesTest, WordsReachTheRemoteShellUnchanged) {
  const SshSite site{"lab", "me@login", 2222, "/opt/long ship's/bin/longship", "/home/me/site $(x).toml"};
  EXPECT_THAT(ssh_arguments(site),
              ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-p", "2222",
                          "--", "me@login", "'/opt/long ship'\\''s/bin/longship'", "agent", "--stdio",
                          "--site", "'lab'", "--site-file", "'/home/me/site $(x).toml'"));
}

}  // namespace
}  // namespace longship::hub
