// SPDX-License-Identifier: Apache-2.0
// What each engine is told; tests/system/test_engines.py lets podman do it, and fakes of the others.
#include "launch/engine.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "expect.h"
#include "launch/engine_image.h"
#include "launch/engine_start.h"

namespace longship::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

EngineBox usual() {
  EngineBox box;
  box.image = "/store/image.sqfs";
  box.spec.binds = {{"/spool/work", "/job"}, {"/opt/ls/lib", "/opt/longship", true}};
  box.spec.working_directory = "/job";
  box.home = "/home/ada";
  box.directory = "/scratch/ada";
  return box;
}

const std::vector<std::string> command = {"python3", "train.py"};

TEST(Engine, ApptainerIsTold) {
  EXPECT_THAT(engine_command(Engine::apptainer, usual(), command),
              ElementsAre("apptainer", "exec", "--no-home", "--bind", "/home/ada:/home/ada", "--bind",
                          "/spool/work:/job", "--bind", "/opt/ls/lib:/opt/longship:ro", "--pwd", "/job",
                          "/store/image.sqfs", "python3", "train.py"));
}

TEST(Engine, ApptainerKnowsGpusAndWriting) {
  auto box = usual();
  box.gpus = GpuMaker::nvidia;
  box.spec.writable = box::Writable::temporary;
  EXPECT_THAT(engine_command(Engine::apptainer, box, command), IsSupersetOf({"--nv", "--writable-tmpfs"}));
  box.gpus = GpuMaker::amd;
  EXPECT_THAT(engine_command(Engine::apptainer, box, command), Contains("--rocm"));
  EXPECT_THAT(engine_command(Engine::apptainer, box, command), Not(Contains("--nv")));
}

TEST(Engine, ApptainerGivesAnEmptyTmpIfAsked) {
  auto box = usual();
  box.spec.private_tmp = true;
  const auto words = engine_command(Engine::apptainer, box, command);
  EXPECT_THAT(words, IsSupersetOf({"--no-mount", "tmp", "--scratch", "/tmp"}));
}

TEST(Engine, SarusIsTold) {
  auto box = usual();
  box.image = "load/longship/image:1-2-3.4";
  EXPECT_THAT(engine_command(Engine::sarus, box, command),
              ElementsAre("sarus", "run", "--mount=type=bind,source=/tmp,destination=/tmp",
                          "--mount=type=bind,source=/home/ada,destination=/home/ada",
                          "--mount=type=bind,source=/spool/work,destination=/job",
                          "--mount=type=bind,source=/opt/ls/lib,destination=/opt/longship,readonly",
                          "--workdir=/job", "load/longship/image:1-2-3.4", "python3", "train.py"));
}

TEST(Engine, PodmanIsTold) {
  auto box = usual();
  box.image = "/store/unpacked/1";
  box.is_root = true;
  box.limits = {"nofile=10:20"};
  EXPECT_THAT(engine_command(Engine::podman, box, command),
              ElementsAre("podman", "--cgroup-manager=cgroupfs", "run", "--rm", "--interactive",
                          "--cgroups=disabled", "--network=host", "--ipc=host", "--uts=host", "--env-host",
                          "--security-opt=label=disable", "--log-driver=none", "--volume=/dev:/dev:rslave",
                          "--ulimit=nofile=10:20", "--read-only", "--read-only-tmpfs=false",
                          "--volume=/tmp:/tmp:rslave", "--volume=/home/ada:/home/ada:rslave",
                          "--volume=/spool/work:/job:rslave", "--volume=/opt/ls/lib:/opt/longship:ro,rslave",
                          "--workdir=/job", "--rootfs", "/store/unpacked/1:O", "python3", "train.py"));
}

TEST(Engine, PodmanPassesWhatALauncherAndAUserHave) {
  auto box = usual();
  box.descriptors = 4;
  box.gpus = GpuMaker::nvidia;
  box.spec.writable = box::Writable::temporary;
  const auto words = engine_command(Engine::podman, box, command);
  EXPECT_THAT(words,
              IsSupersetOf({"--preserve-fds=4", "--group-add=keep-groups", "--device=nvidia.com/gpu=all"}));
  EXPECT_THAT(words, Not(Contains("--read-only")));
}

TEST(Engine, ATerminalIsPassedOn) {
  auto box = usual();
  box.terminal = true;
  EXPECT_THAT(engine_command(Engine::podman, box, command), Contains("--tty"));
  EXPECT_THAT(engine_command(Engine::sarus, box, command), Contains("--tty"));
  EXPECT_THAT(engine_command(Engine::apptainer, box, command), Not(Contains("--tty")));  // it always does
}

TEST(Engine, PodmanHpcHasItsOwnWordForGpus) {
  auto box = usual();
  box.gpus = GpuMaker::nvidia;
  const auto words = engine_command(Engine::podman_hpc, box, command);
  EXPECT_EQ(words[0], "podman-hpc");
  EXPECT_EQ(words[1], "run");  // its own settings know how cgroups are managed
  EXPECT_THAT(words, IsSupersetOf({"--gpu", "--pid=host"}));
  EXPECT_THAT(words, Not(Contains("--cgroups=disabled")));
  EXPECT_THAT(words, Not(Contains(HasSubstr("--device"))));
}

TEST(Engine, TheCallersPlacesAreThereUnlessTheyAreNotWanted) {
  auto box = usual();
  box.spec.working_directory.clear();
  auto words = engine_command(Engine::podman, box, command);
  EXPECT_THAT(words, IsSupersetOf({"--volume=/scratch/ada:/scratch/ada:rslave", "--workdir=/scratch/ada"}));
  box.directory = "/home/ada/project";  // comes with the home
  words = engine_command(Engine::podman, box, command);
  EXPECT_THAT(words, Not(Contains(HasSubstr("--volume=/home/ada/project"))));
  box.spec.home = false;
  box.spec.private_tmp = true;
  words = engine_command(Engine::podman, box, command);
  EXPECT_THAT(words, IsSupersetOf({"--volume=/home/ada/project:/home/ada/project:rslave", "--tmpfs=/tmp"}));
  EXPECT_THAT(words, Not(Contains("--volume=/home/ada:/home/ada:rslave")));
}

TEST(Engine, WhatItCannotDoIsRefused) {
  auto box = usual();
  box.spec.binds.push_back({"/data/a,b", "/data"});
  EXPECT_THAT(message_of([&] { (void)engine_command(Engine::sarus, box, command); }),
              HasSubstr("/data/a,b cannot be let in by sarus"));
  box = usual();
  box.spec.fake_root = true;
  EXPECT_THAT(message_of([&] { (void)engine_command(Engine::podman, box, command); }),
              HasSubstr("--fake-root"));
  box = usual();
  box.spec.writable = box::Writable::temporary;
  box.spec.upper = "/scratch";
  EXPECT_THAT(message_of([&] { (void)engine_command(Engine::apptainer, box, command); }),
              HasSubstr("writes only to memory"));
}

TEST(Engine, NamesAreThoseOfTheSiteFile) {
  for (const Engine engine : engines) EXPECT_EQ(engine_named(name_of(engine), "here"), engine);
  EXPECT_THAT(message_of([&] { (void)engine_named("podmann", "LONGSHIP_ENGINE"); }),
              HasSubstr("LONGSHIP_ENGINE: there is no engine \"podmann\""));
  EXPECT_EQ(engine_of_environment({}), Engine::own);
  EXPECT_EQ(engine_of_environment({{"LONGSHIP_ENGINE", "podman-hpc"}}), Engine::podman_hpc);
}

TEST(Engine, PodmanIsNoWayOutWithoutUserNamespaces) {
  EXPECT_EQ(engine_to_suggest({"podman"}), "");
  EXPECT_EQ(engine_to_suggest({"podman", "podman-hpc"}), "podman-hpc");
}

TEST(Engine, ItsHelperIsStartedInsideWithItsPlaces) {
  Plan plan;
  plan.box.emplace();
  plan.box->engine = Engine::apptainer;
  plan.output = "/spool/output";
  EXPECT_TRUE(uses_engine(plan));
  const auto words = through_engine(plan, {"/opt/ls/bin/longship", "launch", "--node-helper"});
  EXPECT_THAT(words, ElementsAre("/opt/ls/bin/longship", "launch", "--through-engine", testing::_, "--",
                                 "/run/longship/bin/longship", "launch", "--node-helper", "--entered"));
  EXPECT_THAT(words[3], HasSubstr("\"/opt/ls/bin\""));
  EXPECT_THAT(words[3], HasSubstr("\"/spool/output\""));
  EXPECT_THAT(words[3], Not(HasSubstr("secret")));
}

TEST(Engine, ImagesOfSarusAreFoundInItsTable) {
  const auto table =
      "REPOSITORY             TAG       DIGEST         CREATED               SIZE      SERVER\n"
      "load/longship/image    1-2-3.4   2fe79f06fa6d   2018-01-31T15:08:56   47.04MB   load\n";
  EXPECT_TRUE(detail::lists_image(table, "load/longship/image", "1-2-3.4"));
  EXPECT_FALSE(detail::lists_image(table, "load/longship/image", "1-2"));
  EXPECT_FALSE(detail::lists_image("", "load/longship/image", "1-2-3.4"));
}

}  // namespace
}  // namespace longship::launch
