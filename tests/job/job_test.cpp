// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "formats/message.h"

namespace longship::job {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// The job file of the tour.
constexpr std::string_view whole = R"(version = 1
name    = "gan3d"
image   = "hpc-torch"
command = ["python3", "train.py", "--epochs", "3"]
code    = "."
launch  = "ranks"
account = "ml4hep"

[env]
OMP_NUM_THREADS = 4
MODE = "fast"

[needs]
nodes = 2
ranks_per_node = 4
threads_per_rank = 12
gpus_per_rank = 0
memory_per_node = "90GiB"
walltime = "2h"

[[data]]
dataset = "clic/calorimeter@v2"
at      = "/data/calorimeter/"
stage   = "node"

[checkpoint]
every = "10m"
keep  = 3

[outputs]
keep = ["model.pt", "metrics.jsonl"]
into = "clic/gan3d-models"

[retry]
crashes = 3
)";

constexpr std::string_view least = "version = 1\nname = \"a\"\ncommand = [\"true\"]\n";

Job parsed(std::string_view text, std::vector<std::string> overrides = {}) {
  return parse(text, "job.toml", "/", overrides);
}

std::string complaint(std::string_view text, std::vector<std::string> overrides = {}) {
  return message_of([&] { (void)parsed(text, overrides); });
}

TEST(JobTest, EveryKeyOfTheFileArrives) {
  const auto job = parsed(whole);
  EXPECT_EQ(job.name, "gan3d");
  EXPECT_EQ(job.image, "hpc-torch");
  EXPECT_THAT(job.command, ElementsAre("python3", "train.py", "--epochs", "3"));
  EXPECT_EQ(job.code, "/");
  EXPECT_EQ(job.launch, Launch::ranks);
  EXPECT_EQ(job.account, "ml4hep");
  EXPECT_EQ(job.environment,
            (std::map<std::string, std::string>{{"OMP_NUM_THREADS", "4"}, {"MODE", "fast"}}));
  EXPECT_EQ(job.needs.nodes, 2);
  EXPECT_EQ(job.needs.ranks_per_node, 4);
  EXPECT_EQ(ranks(job.needs), 8);
  EXPECT_EQ(job.needs.threads_per_rank, 12);
  EXPECT_EQ(job.needs.gpus_per_rank, 0);
  EXPECT_EQ(job.needs.memory_per_node, std::uint64_t{90} << 30);
  EXPECT_EQ(job.needs.walltime, seconds(7200));
  ASSERT_EQ(job.data.size(), 1u);
  EXPECT_EQ(job.data[0].dataset, "clic/calorimeter@v2");
  EXPECT_EQ(job.data[0].at, "/data/calorimeter");
  EXPECT_EQ(job.data[0].stage, Stage::node);
  EXPECT_EQ(job.checkpoint->every, seconds(600));
  EXPECT_EQ(job.checkpoint->keep, 3);
  EXPECT_THAT(job.outputs.keep, ElementsAre("model.pt", "metrics.jsonl"));
  EXPECT_EQ(job.outputs.into, "clic/gan3d-models");
  EXPECT_EQ(job.retry.crashes, 3);
}

TEST(JobTest, WhatIsNotSaidHasItsDefault) {
  const auto job = parsed(least);
  EXPECT_EQ(job.image, "");
  EXPECT_TRUE(job.code.empty());
  EXPECT_EQ(ranks(job.needs), 1);
  EXPECT_EQ(job.needs.threads_per_rank, 0);
  EXPECT_EQ(job.needs.memory_per_node, 0u);
  EXPECT_EQ(job.needs.walltime, seconds(0));
  EXPECT_FALSE(job.checkpoint);
  EXPECT_TRUE(job.data.empty());
  EXPECT_EQ(job.retry.crashes, 0);
}

TEST(JobTest, JsonReadsBackTheSame) {
  for (const auto text : {whole, least}) {
    const auto json = to_json(parsed(text));
    EXPECT_EQ(to_json(from_json(json, "spool")), json);
  }
}

TEST(JobTest, JsonFromAnotherMachineNeedsNoCodeHereButAbsolutePaths) {
  auto job = parsed(least);
  job.code = "/not/on/this/machine";
  EXPECT_EQ(from_json(to_json(job), "spool").code, job.code);
  EXPECT_EQ(message_of([] {
              (void)from_json(R"({"version": 1, "name": "a", "command": ["x"],
                                  "code": "."})",
                              "spool");
            }),
            "spool:2: code: expected an absolute path, found \".\"");
  EXPECT_THAT(message_of([] { (void)from_json("{}", "spool"); }), EndsWith("spool: version: missing"));
}

struct Wrong {
  const char* description;
  std::string text;
  std::string message;
};

std::string with(std::string_view lines) {
  return std::string(least) + std::string(lines);
}

TEST(JobTest, EveryMistakeIsNamedWithLineAndKey) {
  const std::string head = "version = 1\nname = \"a\"\n";
  const Wrong all[] = {
      {"syntax", "version = \n", "job.toml:1:11: "},
      {"no version", "name = \"a\"\ncommand = [\"x\"]\n", "job.toml: version: missing"},
      {"newer file", "version = 2\nnews = 1\n",
       "job.toml:1: version: expected 1, found 2: this Longship knows no other"},
      {"version as text", "version = \"1\"\n", "job.toml:1: version: expected an integer, found \"1\""},
      {"typo in a required key", head + "comand = [\"x\"]\n",
       "job.toml:3: comand: unknown key: did you mean \"command\"?"},
      {"typo in a table", with("[needs]\nnodse = 2\n"),
       "job.toml:5: needs.nodse: unknown key: did you mean \"nodes\"?"},
      {"unknown table", with("[need]\n"), "job.toml:4: need: unknown key: did you mean \"needs\"?"},
      {"no name", "version = 1\ncommand = [\"x\"]\n", "job.toml: name: missing"},
      {"name", "version = 1\nname = \"My job\"\n",
       "job.toml:2: name: \"My job\" is not a job name: up to 63 small letters"},
      {"hyphen first", "version = 1\nname = \"-a\"\n", "job.toml:2: name: \"-a\" is not a job name"},
      {"long name", "version = 1\nname = \"" + std::string(64, 'a') + "\"\n", "is not a job name"},
      {"no command", head, "job.toml: command: missing"},
      {"command as text", head + "command = \"python3 train.py\"\n",
       "job.toml:3: command: expected a list of texts, found \"python3 train.py\": write each word in "
       "quotes"},
      {"empty command", head + "command = []\n", "job.toml:3: command: expected a program and its arguments"},
      {"empty program", head + "command = [\"\"]\n",
       "job.toml:3: command: expected a program and its arguments"},
      {"number in command", head + "command = [\"x\", 3]\n",
       "job.toml:3: command: expected a list of texts, but entry 2 is 3"},
      {"null in command", head + "command = [\"x\\u0000\"]\n",
       "job.toml:3: command: an argument holds no null character"},
      {"image", with("image = \"HPC Torch\"\n"), "job.toml:4: image: \"HPC Torch\" is not an image"},
      {"code missing", with("code = \"nowhere\"\n"), "job.toml:4: code: there is no directory /nowhere"},
      {"code is a file", with("code = \"/dev/null\"\n"), "job.toml:4: code: /dev/null is not a directory"},
      {"code empty", with("code = \"\"\n"), "job.toml:4: code: expected a directory"},
      {"launch", with("launch = \"rank\"\n"),
       "job.toml:4: launch: expected one of ranks, mpi, spark, single, found \"rank\": did you mean "
       "\"ranks\"?"},
      {"single with ranks", with("launch = \"single\"\n[needs]\nnodes = 2\n"),
       "job.toml:4: launch: \"single\" is one process, but needs asks for 2 nodes × 1 ranks_per_node"},
      {"env name", with("[env]\n\"1A\" = \"x\"\n"), "job.toml:5: env.1A: not the name of a variable"},
      {"our variable", with("[env]\nRANK = \"0\"\n"),
       "job.toml:5: env.RANK: Longship sets this variable itself"},
      {"env value", with("[env]\nA = 0.10\n"), "job.toml:5: env.A: expected text in quotes, found 0.1"},
      {"null in env", with("[env]\nA = \"\\u0000\"\n"), "job.toml:5: env.A: a value holds no null character"},
      {"env is no table", with("env = 3\n"), "job.toml:4: env: expected a table, found 3"},
      {"no nodes", with("[needs]\nnodes = 0\n"),
       "job.toml:5: needs.nodes: expected an integer from 1 to 100000, found 0"},
      {"threads", with("[needs]\nthreads_per_rank = 0\n"),
       "needs.threads_per_rank: expected an integer from 1 to 4096, found 0"},
      {"gpus", with("[needs]\ngpus_per_rank = -1\n"),
       "needs.gpus_per_rank: expected an integer from 0 to 64, found -1"},
      {"memory", with("[needs]\nmemory_per_node = \"90G\"\n"),
       "needs.memory_per_node: \"90G\" can be read in two ways"},
      {"little memory", with("[needs]\nmemory_per_node = 90\n"),
       "needs.memory_per_node: expected a size from 1MiB to 1PiB, found 90"},
      {"walltime", with("[needs]\nwalltime = 120\n"),
       "needs.walltime: expected a time such as \"2h\", found 120"},
      {"no walltime", with("[needs]\nwalltime = \"0s\"\n"),
       "needs.walltime: expected a time from 1s to 365d"},
      {"too many ranks", with("[needs]\nnodes = 100000\nranks_per_node = 4096\n"),
       "job.toml:6: needs.ranks_per_node: nodes × ranks_per_node are 409600000, more than 10000000"},
      {"too many threads", with("[needs]\nranks_per_node = 100\nthreads_per_rank = 100\n"),
       "needs.threads_per_rank: ranks_per_node × threads_per_rank are 10000, more than 8192"},
      {"too many gpus", with("[needs]\nranks_per_node = 64\ngpus_per_rank = 64\n"),
       "needs.gpus_per_rank: ranks_per_node × gpus_per_rank are 4096, more than 1024"},
      {"data as table", with("[data]\nat = \"/x\"\n"),
       "job.toml:4: data: expected a list of tables, each under [[data]]"},
      {"no dataset", with("[[data]]\nat = \"/x\"\n"), "job.toml:4: data[1].dataset: missing"},
      {"dataset", with("[[data]]\ndataset = \"calo\"\nat = \"/x\"\n"),
       "data[1].dataset: \"calo\" is not a dataset: write team/name"},
      {"relative at", with("[[data]]\ndataset = \"a/b\"\nat = \"data\"\n"),
       "job.toml:6: data[1].at: expected an absolute path, found \"data\""},
      {"stage", with("[[data]]\ndataset = \"a/b\"\nat = \"/x\"\nstage = \"nodes\"\n"),
       "data[1].stage: expected one of node, shared, none, found \"nodes\": did you mean \"node\"?"},
      {"same at",
       with("[[data]]\ndataset = \"a/b\"\nat = \"/x\"\n[[data]]\ndataset = \"a/c\"\nat = \"/x/.\"\n"),
       "job.toml:9: data[2].at: /x is taken by another [[data]]"},
      {"no interval", with("[checkpoint]\nkeep = 1\n"), "job.toml:4: checkpoint.every: missing"},
      {"keep none", with("[checkpoint]\nevery = \"1m\"\nkeep = 0\n"),
       "checkpoint.keep: expected an integer from 1 to 1000, found 0"},
      {"output outside", with("[outputs]\nkeep = [\"../x\"]\n"),
       "job.toml:5: outputs.keep: \"../x\" leads out of the working directory"},
      {"absolute output", with("[outputs]\nkeep = [\"/x\"]\n"), "outputs.keep: \"/x\" is an absolute path"},
      {"nameless output", with("[outputs]\nkeep = [\"\"]\n"), "outputs.keep: an output needs a name"},
      {"output twice", with("[outputs]\nkeep = [\"a\", \"a\"]\n"), "outputs.keep: \"a\" is there twice"},
      {"into", with("[outputs]\ninto = \"ftp://x/y\"\n"),
       "outputs.into: \"ftp://x/y\": only s3://, http:// and https:// are known"},
      {"retry", with("[retry]\ncrashes = 1001\n"),
       "retry.crashes: expected an integer from 0 to 1000, found 1001"},
      {"twice", with("name = \"b\"\n"), "job.toml:4:"},
  };
  for (const auto& [description, text, message] : all)
    EXPECT_THAT(complaint(text), HasSubstr(message)) << description;
}

TEST(JobTest, RelativePathsStartAtTheFile) {
  const auto job = parse(
      with("image = \"./x.sqfs\"\n[[data]]\ndataset = \"../d\"\nat = \"/x\"\n[outputs]\ninto = \"./out/\"\n"),
      "job.toml", "/a/b");
  EXPECT_EQ(job.image, "/a/b/x.sqfs");
  EXPECT_EQ(job.data[0].dataset, "/a/d");
  EXPECT_EQ(job.outputs.into, "/a/b/out");
}

TEST(OverrideTest, ChangesAValueForOneRun) {
  const auto job =
      parsed(whole, {"needs.nodes=16", "name=other", "launch=mpi", "env.MODE=a=b", "env.NEW=\"7\"",
                     "command=[\"echo\", \"hi\"]", "retry.crashes=0", "needs.walltime=30m"});
  EXPECT_EQ(job.needs.nodes, 16);
  EXPECT_EQ(job.name, "other");
  EXPECT_EQ(job.launch, Launch::mpi);
  EXPECT_EQ(job.environment.at("MODE"), "a=b");
  EXPECT_EQ(job.environment.at("NEW"), "7");
  EXPECT_THAT(job.command, ElementsAre("echo", "hi"));
  EXPECT_EQ(job.needs.walltime, std::chrono::minutes(30));
}

TEST(OverrideTest, AddsATableThatTheFileLacks) {
  EXPECT_EQ(parsed(least, {"checkpoint.every=5m"}).checkpoint->every, seconds(300));
  EXPECT_EQ(parsed(least, {"data=[{dataset=\"a/b\", at=\"/x\"}]"}).data[0].at, "/x");
}

TEST(OverrideTest, MistakesNameTheOption) {
  const std::map<std::string, std::string> wrong = {
      {"needs.nodse=3", "--set needs.nodse=3: needs.nodse: unknown key: did you mean \"nodes\"?"},
      {"need.nodes=3", "--set need.nodes=3: need: unknown key: did you mean \"needs\"?"},
      {"needs.nodes=0", "--set needs.nodes=0: needs.nodes: expected an integer from 1 to 100000, found 0"},
      {"needs.nodes=many", "--set needs.nodes=many: needs.nodes: expected an integer, found \"many\""},
      {"needs.nodes=1\nx=2",
       "--set needs.nodes=1\\nx=2: needs.nodes: expected an integer, found \"1\\nx=2\""},
      {"needs.nodes", "--set needs.nodes: expected KEY=VALUE, such as needs.nodes=16"},
      {"=3", "--set =3: expected KEY=VALUE"},
      {"name.x=3", "--set name.x=3: name is text in quotes, no key can be set in it"},
      {"data.at=/x", "--set data.at=/x: data is a list, no key can be set in it"},
      {"data=[{at=3}]", "--set data=[{at=3}]: data[1].dataset: missing"},
  };
  for (const auto& [option, message] : wrong) EXPECT_THAT(complaint(whole, {option}), HasSubstr(message));
}

class LoadTest : public testing::Test {
 protected:
  void write(std::string_view text) { write_file(file(), text); }
  fs::path file() const { return directory_.path() / "job.toml"; }
  TemporaryDirectory directory_;
};

TEST_F(LoadTest, CodeIsBesideTheFileAndADirectoryStandsForItsJobFile) {
  write(with("code = \".\"\n"));
  EXPECT_EQ(load(file()).code, directory_.path());
  EXPECT_EQ(load(directory_.path()).code, directory_.path());
}

TEST_F(LoadTest, AFileThatIsNotThereIsNamed) {
  EXPECT_EQ(message_of([&] { (void)load(file()); }),
            "there is no job file " + file().string() + ": name one, or a directory with a job.toml");
}

TEST_F(LoadTest, AFileThatIsNoJobFileIsRefusedAtOnce) {
  write(std::string(10'000'000, 'x'));
  EXPECT_THAT(message_of([&] { (void)load(file()); }), HasSubstr("is larger than 1048576 bytes"));
}

TEST_F(LoadTest, ErrorsNameTheFileAsItWasGiven) {
  write("version = 1\nname = 3\n");
  EXPECT_EQ(message_of([&] { (void)load(file()); }),
            file().string() + ":2: name: expected text in quotes, found 3");
}

}  // namespace
}  // namespace longship::job
