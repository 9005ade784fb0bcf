// SPDX-License-Identifier: Apache-2.0
#include "site/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::site {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;

// The site file of the tour, and every key that it leaves out.
constexpr std::string_view whole = R"(version = 1
name    = "supermuc"
batch   = "slurm"
spool   = "/dss/longship/"
store   = "/dss/images"
engine  = "apptainer"

[node]
arch    = "amd64"
cores   = 48
memory  = "96GiB"
gpus    = 4
local   = "/scratch"
network = true

[host]
glibc  = "2.31"
kernel = "5.3.18-24-default"
pmi    = ["pmix", "pmi2"]
driver = "470.42.01"

[host.mpi]
family  = "mpich"
version = "4.0.2"
library = "/opt/intel/mpi/lib/libmpi.so.12"
glibc   = "2.28"
let_in  = true

[[queue]]
name = "general"
max_nodes = 792
max_walltime = "48h"
max_queued = 5
accepts = 'nodes >= 17'
account = "ml4hep"
qos     = "high"
setup   = ["module load slurm_setup"]
options = ["--constraint=scratch"]
cores   = 40
memory  = "90GB"
gpus    = 0

[[queue]]
name = "test"

[accept]
teams  = ["clic"]
users  = ["ada"]
signed = true
shared = true
)";

constexpr std::string_view least =
    "version = 1\nname = \"here\"\nbatch = \"local\"\nspool = \"/s\"\n[node]\narch = \"x86_64\"\ncores = 8\n";

Site parsed(std::string_view text) {
  return parse(text, "site.toml");
}

TEST(SiteTest, EveryKeyOfTheFileArrives) {
  const auto site = parsed(whole);
  EXPECT_EQ(site.name, "supermuc");
  EXPECT_EQ(site.batch, Batch::slurm);
  EXPECT_EQ(site.spool, "/dss/longship");
  EXPECT_EQ(site.store, "/dss/images");
  EXPECT_EQ(site.engine, "apptainer");
  EXPECT_EQ(site.node, (Node{"x86_64", 48, std::uint64_t{96} << 30, 4, "/scratch", true}));
  EXPECT_EQ(site.host.glibc->text(), "2.31");
  EXPECT_EQ(site.host.kernel->text(), "5.3.18");
  EXPECT_THAT(site.host.pmi, ElementsAre("pmix", "pmi2"));
  EXPECT_EQ(*site.host.mpi,
            (HostMpi{"mpich", "4.0.2", "/opt/intel/mpi/lib/libmpi.so.12", fit::Version(2, 28), true}));
  EXPECT_EQ(site.host.driver, fit::Version(470, 42, 1));
  EXPECT_EQ(host_facts(site).mpi_glibc, fit::Version(2, 28));
  EXPECT_TRUE(host_facts(site).lets_mpi_in);
  EXPECT_EQ(host_facts(site).driver, fit::Version(470, 42, 1));
  ASSERT_EQ(site.queues.size(), 2u);
  const auto& queue = site.queues[0];
  EXPECT_EQ(queue.name, "general");
  EXPECT_EQ(queue.max_nodes, 792);
  EXPECT_EQ(queue.max_walltime, hours(48));
  EXPECT_EQ(queue.max_queued, 5);
  EXPECT_EQ(queue.accepts.text(), "nodes >= 17");
  EXPECT_EQ(queue.account, "ml4hep");
  EXPECT_EQ(queue.qos, "high");
  EXPECT_THAT(queue.setup, ElementsAre("module load slurm_setup"));
  EXPECT_THAT(queue.options, ElementsAre("--constraint=scratch"));
  EXPECT_THAT(site.accept.teams, ElementsAre("clic"));
  EXPECT_THAT(site.accept.users, ElementsAre("ada"));
  EXPECT_TRUE(site.accept.signed_only);
  EXPECT_TRUE(site.accept.shared);
}

TEST(SiteTest, AQueueMayHaveNodesOfItsOwnKind) {
  const auto site = parsed(whole);
  EXPECT_EQ(cores_of(site, site.queues[0]), 40);
  EXPECT_EQ(memory_of(site, site.queues[0]), 90'000'000'000u);
  EXPECT_EQ(gpus_of(site, site.queues[0]), 0);
  EXPECT_EQ(cores_of(site, site.queues[1]), 48);
  EXPECT_EQ(memory_of(site, site.queues[1]), std::uint64_t{96} << 30);
  EXPECT_EQ(gpus_of(site, site.queues[1]), 4);
}

TEST(SiteTest, WhatIsNotSaidHasItsDefault) {
  const auto site = parsed(whole);
  EXPECT_EQ(site.queues[1].max_nodes, 0);
  EXPECT_EQ(site.queues[1].max_walltime, hours(0));
  EXPECT_EQ(site.queues[1].max_queued, 4);
  const auto slurm = parsed(
      "version=1\nname='a'\nbatch='slurm'\nspool='/s'\n[node]\narch='x'\ncores=1\n[[queue]]\nname='q'");
  EXPECT_EQ(slurm.store, "/s/store");
  EXPECT_EQ(slurm.engine, "own");
  EXPECT_EQ(slurm.node.local, "/tmp");
  EXPECT_FALSE(slurm.node.network);
  EXPECT_EQ(slurm.host, Host{});
  EXPECT_EQ(slurm.accept, Accept{});
}

TEST(SiteTest, AMachineWithoutABatchSystemHasOneQueueThatHoldsAJobPerCore) {
  const auto site = parsed(least);
  ASSERT_EQ(site.queues.size(), 1u);
  EXPECT_EQ(site.queues[0].name, "local");
  EXPECT_EQ(site.queues[0].max_nodes, 1);
  EXPECT_EQ(site.queues[0].max_queued, 8);
  EXPECT_EQ(find_queue(site, "local"), &site.queues[0]);
  EXPECT_EQ(find_queue(site, "locale"), nullptr);
}

TEST(SiteTest, WhatIsWrittenReadsBackTheSame) {
  for (const auto text : {whole, least}) {
    const auto site = parsed(text);
    EXPECT_EQ(parsed(to_toml(site)), site);
    EXPECT_EQ(parsed(to_toml(site, {{"", "Two\nlines"}, {"spool", "x\x1b[31m"}, {"queue.general", ""}})),
              site);
  }
  auto nasty = parsed(whole);
  nasty.queues[0].setup = {"export A=\"b'c\\\" # d", "  é"};
  nasty.queues[0].accepts = Expression("team == 'clic' or team == \"atlas\"");
  EXPECT_EQ(parsed(to_toml(nasty)), nasty);
}

TEST(SiteTest, CommentsStandBeforeTheirKeys) {
  const auto text = to_toml(
      parsed(least), {{"", "First"}, {"spool", "Shared"}, {"node.cores", "Usable"}, {"accept", "Who"}});
  EXPECT_TRUE(text.starts_with("# First\nversion = 1\n")) << text;
  EXPECT_THAT(text, HasSubstr("# Shared\nspool = \"/s\"\n"));
  EXPECT_THAT(text, HasSubstr("# Usable\ncores = 8\n"));
  EXPECT_THAT(text, HasSubstr("# Who\n[accept]\n"));
}

struct Wrong {
  std::string text, message;
};

std::string with(std::string_view lines) {
  return std::string(least) + std::string(lines);
}

std::string on_slurm(std::string_view lines) {
  return "version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"/s\"\n[node]\narch = \"x\"\ncores = "
         "1\n[[queue]]\n"
         "name = \"q\"\n" +
         std::string(lines);
}

TEST(SiteTest, MistakesAreNamedWithLineAndKey) {
  for (const auto& [text, message] : std::initializer_list<Wrong>{
           {"", "site.toml: version: missing"},
           {"version = 2\nwhat = 1\n",
            "site.toml:1: version: expected 1, found 2: this Longship knows no other"},
           {"version = 1\nnode = 3\nnam = 1\n", "site.toml:3: nam: unknown key: did you mean \"name\"?"},
           {"version = 1\nname = \"My site\"\n",
            "site.toml:2: name: \"My site\" is not a site's name: up to 63 small "
            "letters, digits and . _ -"},
           {"version = 1\nname = \"a\"\n", "site.toml: batch: missing"},
           {"version = 1\nname = \"a\"\nbatch = \"slrum\"\n",
            "site.toml:3: batch: expected one of local, slurm, lsf, pbs, found \"slrum\": did you mean "
            "\"slurm\"?"},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\n", "site.toml: spool: missing"},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"x\"\n",
            "site.toml:4: spool: expected an absolute path, found \"x\""},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"/x\"\n", "site.toml: node: missing"},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"/x\"\n[node]\narch = \"\"\n",
            "site.toml:6: node.arch: expected an architecture, such as x86_64"},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"/x\"\n[node]\narch = \"x\"\n",
            "site.toml:5: node.cores: missing"},
           {"version = 1\nname = \"a\"\nbatch = \"slurm\"\nspool = \"/x\"\n[node]\narch = \"x\"\ncores = 1\n",
            "site.toml: queue: missing: batch = \"slurm\" needs at least one [[queue]]"},
           {with("memory = \"90G\"\n"),
            "site.toml:8: node.memory: \"90G\" can be read in two ways: write GiB (powers of "
            "1024) or GB (powers of 1000)"},
           {with("core = 4\n"), "site.toml:8: node.core: unknown key: did you mean \"cores\"?"},
           {with("[host]\nglibc = \"new\"\n"),
            "site.toml:9: host.glibc: \"new\" is not a version such as \"2.28\""},
           {with("[host.mpi]\nfamily = \"openmp\"\n"),
            "site.toml:9: host.mpi.family: expected one of openmpi, mpich, found \"openmp\": did you mean "
            "\"openmpi\"?"},
           {with("[host.mpi]\nversion = \"1\"\n"), "site.toml:8: host.mpi.family: missing"},
           {with("[[queue]]\nname = \"q\"\nmax_nodes = 2\n"),
            "site.toml:10: queue[1].max_nodes: expected an integer from 1 to 1, found 2"},
           {with("[[queue]]\nname = \"q\"\naccount = \"x\"\n"),
            "site.toml:10: queue[1].account: batch = \"local\" has no batch system to give it to"},
           {with("[[queue]]\nname = \"a b\"\n"),
            "site.toml:9: queue[1].name: \"a b\" is not the name of a queue"},
           {with("[[queue]]\nname = \"q\"\n[[queue]]\nname = \"q\"\n"),
            "site.toml:11: queue[2].name: there is another queue \"q\""},
           {on_slurm("accepts = \"nodes => 3\"\n"),
            "site.toml:10: queue[1].accepts: at column 7 of 'nodes => 3': "
            "expected ==, !=, <, <=, > or >=, found \"=>\""},
           {on_slurm("setup = [\"a\\nb\"]\n"),
            "site.toml:10: queue[1].setup: \"a\\nb\" is more than one line: write one "
            "entry for each"},
           {on_slurm("[accept]\nteams = [\"a\"]\nusers = [\"b\"]\n"),
            "site.toml:11: accept.teams: one Unix account would run jobs of several: say shared = true if "
            "that is meant"},
       })
    EXPECT_EQ(message_of([&] { (void)parsed(text); }), message);
}

TEST(SiteTest, BatchSystemsOfLaterVersionsAreReadAlready) {
  for (const auto& [word, batch] : {std::pair{"lsf", Batch::lsf}, std::pair{"pbs", Batch::pbs}}) {
    auto text = on_slurm("");
    text.replace(text.find("slurm"), 5, word);
    EXPECT_EQ(parsed(text).batch, batch);
  }
}

}  // namespace
}  // namespace longship::site
