// SPDX-License-Identifier: Apache-2.0
#include "site/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "expect.h"

namespace longship::site {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

store::Image image(std::string name, std::string architecture = "x86_64", std::string libc = "glibc 2.36") {
  store::Image image;
  image.name = std::move(name);
  image.root = "sha256:" + image.name;
  image.facts = {std::move(architecture), std::move(libc), "Debian"};
  return image;
}

struct MatchTest : testing::Test {
  MatchTest() {
    site.name = "supermuc";
    site.batch = Batch::slurm;
    site.node = {"x86_64", 48, std::uint64_t{96} << 30, 0, "/tmp", false};
    site.queues = {{.name = "general", .max_nodes = 16, .max_walltime = hours(48)}};
    job.name = "gan3d";
    job.command = {"true"};
    job.needs.nodes = 2;
    job.needs.ranks_per_node = 4;
  }
  Queue& queue() { return site.queues[0]; }
  Verdict asked() const {
    return match(job, requester, site, site.queues[0], find_variants(images, job.image));
  }
  std::string reason() const { return asked().reason; }

  Site site;
  job::Job job;
  Requester requester{"ada", "clic"};
  std::vector<store::Image> images;
};

TEST_F(MatchTest, AJobThatAsksForLittleFits) {
  const auto verdict = asked();
  EXPECT_TRUE(verdict.fits);
  EXPECT_EQ(verdict.reason, "");
  EXPECT_FALSE(verdict.variant);
}

TEST_F(MatchTest, EachClauseHasItsSentence) {
  struct Case {
    std::function<void(MatchTest&)> change;
    std::string reason, remedy;
  };
  for (const auto& [change, reason, remedy] : std::initializer_list<Case>{
           {[](MatchTest& t) { t.job.needs.nodes = 17; }, "needs 17 nodes, queue general has at most 16",
            "--set needs.nodes=16"},
           {[](MatchTest& t) { t.job.needs.walltime = hours(49); },
            "needs a walltime of 2d1h, queue general allows at most 2d",
            "--set needs.walltime=2d, and [checkpoint] for the rest"},
           {[](MatchTest& t) { t.job.needs.threads_per_rank = 13; },
            "needs 52 cores on a node (4 ranks × 13 threads), nodes of queue general have 48",
            "fewer ranks_per_node or threads_per_rank, on more nodes"},
           {[](MatchTest& t) { t.job.needs.ranks_per_node = 49; },
            "needs 49 cores on a node (49 ranks), nodes of queue general have 48",
            "fewer ranks_per_node or threads_per_rank, on more nodes"},
           {[](MatchTest& t) { t.job.needs.memory_per_node = 200'000'000'000; },
            "needs 200 GB of memory on a node, nodes of queue general have 103 GB",
            "fewer ranks_per_node on more nodes need less memory on each"},
           {[](MatchTest& t) { t.job.needs.gpus_per_rank = 1; },
            "needs 4 GPUs on a node, nodes of queue general have none", ""},
           {[](MatchTest& t) {
              t.job.needs.gpus_per_rank = 2;
              t.queue().gpus = 6;
            },
            "needs 8 GPUs on a node, nodes of queue general have 6", "at most 3 ranks_per_node fit"},
           {[](MatchTest& t) {
              t.job.account = "mine";
              t.queue().account = "yours";
            },
            "is to be paid by account mine, queue general by yours",
            "leave account out of the job file, or add a queue with this account to the site file"},
           {[](MatchTest& t) { t.site.batch = Batch::lsf; },
            "queue general needs an account that pays, and neither job nor queue names one",
            "--set account=NAME"},
           {[](MatchTest& t) { t.queue().accepts = Expression("nodes >= 17 or team == 'atlas'"); },
            "queue general accepts only nodes >= 17 or team == 'atlas', and this job has nodes = 2, team = "
            "\"clic\"",
            ""},
           {[](MatchTest& t) {
              t.site.accept.teams = {"atlas", "cms"};
            },
            "site supermuc takes jobs of teams atlas, cms only, this one is ada's of team clic",
            "[accept] of its site file says whose jobs it takes"},
           {[](MatchTest& t) {
              t.site.accept.users = {"bob"};
              t.requester.team.clear();
            },
            "site supermuc takes jobs of user bob only, this one is ada's",
            "[accept] of its site file says whose jobs it takes"},
           {[](MatchTest& t) { t.job.launch = job::Launch::spark; }, "launch = \"spark\" is not there yet",
            "use \"ranks\" or \"mpi\""},
           {[](MatchTest& t) { t.job.launch = job::Launch::mpi; },
            "launch = \"mpi\" without an image needs an MPI of the site, and supermuc has none",
            "give the job an image with an MPI in it, or name the site's under [host.mpi] of its site file"},
           {[](MatchTest& t) { t.job.image = "torch"; }, "there is no image torch",
            "longship image build -t torch DIR makes one, longship image ls shows those that are there"},
           {[](MatchTest& t) { t.job.image = "/images/torch.sqfs"; },
            "image /images/torch.sqfs is a path, which means nothing on another machine",
            "longship image import -t NAME /images/torch.sqfs, and image = \"NAME\""},
       }) {
    MatchTest_EachClauseHasItsSentence_Test fresh;
    change(fresh);
    const auto verdict = fresh.asked();
    EXPECT_FALSE(verdict.fits);
    EXPECT_EQ(verdict.reason, reason);
    EXPECT_EQ(verdict.remedy, remedy);
  }
}

TEST_F(MatchTest, WhatNobodySaidIsNoHindrance) {
  queue() = {.name = "general"};
  site.node.memory = 0;
  job.needs.nodes = 100'000;
  job.needs.walltime = hours(8760);
  job.needs.memory_per_node = std::uint64_t{1} << 50;
  EXPECT_EQ(reason(), "");
}

TEST_F(MatchTest, AUserOrATeamThatIsNamedIsTaken) {
  site.accept.teams = {"clic"};
  EXPECT_EQ(reason(), "");
  site.accept.teams = {"atlas"};
  site.accept.users = {"ada"};
  EXPECT_EQ(reason(), "");
  requester = {"", ""};
  EXPECT_THAT(reason(), HasSubstr("takes jobs of team atlas and user ada only"));
}

TEST_F(MatchTest, TheQueuesAccountPaysForAJobThatNamesNone) {
  queue().account = "ml4hep";
  queue().accepts = Expression("account == 'ml4hep'");
  EXPECT_EQ(reason(), "");
  job.account = "ml4hep";
  EXPECT_EQ(reason(), "");
}

TEST_F(MatchTest, ANameMeansAllItsTagsAndATagOnlyItself) {
  images = {image("ring:openmpi"), image("other"),  image("ring"),
            image("ring:mpich"),   image("ringer"), image("team/ring:mpich")};
  const auto names = [&](std::string_view reference) {
    std::vector<std::string> found;
    for (const auto& variant : find_variants(images, reference)) {
      EXPECT_EQ(images[variant.index].name, variant.name);
      found.push_back(variant.name);
    }
    return found;
  };
  EXPECT_THAT(names("ring"), testing::ElementsAre("ring", "ring:mpich", "ring:openmpi"));
  EXPECT_THAT(names("ring:mpich"), testing::ElementsAre("ring:mpich"));
  EXPECT_THAT(names("ring:intel"), testing::IsEmpty());
  EXPECT_THAT(names("team/ring"), testing::ElementsAre("team/ring:mpich"));
  EXPECT_THAT(names("ring@sha256:ring:mpich"), testing::ElementsAre("ring:mpich"));
  EXPECT_THAT(names("/ring"), testing::IsEmpty());
  EXPECT_THAT(names(""), testing::IsEmpty());
}

TEST_F(MatchTest, TheFirstVariantThatFitsIsChosen) {
  images = {image("torch:arm", "aarch64"), image("torch:x", "x86_64")};
  job.image = "torch";
  const auto verdict = asked();
  EXPECT_TRUE(verdict.fits);
  EXPECT_EQ(verdict.variant, 1u);
}

TEST_F(MatchTest, AVariantWithLimitsIsChosenOnlyIfNoneIsWithout) {
  images = {image("torch", "x86_64", "musl"), image("torch:glibc")};
  job.image = "torch";
  EXPECT_EQ(asked().variant, 1u);
  images.pop_back();
  EXPECT_EQ(asked().variant, 0u);
}

TEST_F(MatchTest, IfNoVariantFitsEachSaysWhyNot) {
  images = {image("torch:arm", "aarch64"), image("torch:power", "ppc64le")};
  job.image = "torch";
  const auto verdict = asked();
  EXPECT_FALSE(verdict.fits);
  EXPECT_THAT(verdict.reason,
              HasSubstr("no variant of image torch fits: torch:arm: the image is for aarch64"));
  EXPECT_THAT(verdict.reason, HasSubstr("; torch:power: the image is for ppc64le"));
  EXPECT_THAT(verdict.remedy, HasSubstr("x86_64"));
  images.pop_back();
  EXPECT_THAT(reason(), testing::StartsWith("image torch:arm: the image is for aarch64"));
}

TEST_F(MatchTest, AnMpiProgramGoesToTheSiteThatHasItsMpi) {
  images = {image("ring:mpich"), image("ring:openmpi")};
  images[0].facts.mpi = "mpich 4.0.2";
  images[1].facts.mpi = "openmpi 4.1.4";
  job.image = "ring";
  job.launch = job::Launch::mpi;
  site.host.mpi = {"openmpi", "4.1.4", ""};
  site.host.pmi = {"pmix", "pmi2"};
  EXPECT_EQ(asked().variant, 1u);
  images.pop_back();
  EXPECT_EQ(reason(), "image ring:mpich: the image has MPICH, the MPI of the site is Open MPI");
  site.host.mpi.reset();  // then what the launcher speaks decides
  EXPECT_EQ(asked().variant, 0u);
  site.host.pmi = {"pmix"};
  EXPECT_THAT(reason(), HasSubstr("needs a launcher that speaks pmi2"));
  job.launch = job::Launch::ranks;  // whose ranks never ask an MPI
  EXPECT_EQ(asked().variant, 0u);
}

TEST_F(MatchTest, ASiteForSignedImagesTakesNoOther) {
  site.accept.signed_only = true;
  EXPECT_EQ(reason(), "");  // it brings no image
  images = {image("torch")};
  job.image = "torch";
  EXPECT_EQ(reason(), "image torch: site supermuc takes only signed images");
}

TEST_F(MatchTest, TheShareOfANodeIsWhatItsRanksNeedTogether) {
  job.needs.threads_per_rank = 3;
  job.needs.gpus_per_rank = 1;
  job.needs.memory_per_node = 5;
  const auto share = share_of(job.needs);
  EXPECT_EQ(share.cores, 12);
  EXPECT_EQ(share.gpus, 4);
  EXPECT_EQ(share.memory, 5u);
  job.needs.threads_per_rank = 0;
  EXPECT_EQ(share_of(job.needs).cores, 0);
}

}  // namespace
}  // namespace longship::site
