// SPDX-License-Identifier: Apache-2.0
// The C functions in a process that nobody launched: a world of one.
#include "abi/longship.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "record/reader.h"

namespace {

using testing::HasSubstr;

class AbiTest : public testing::Test {
 protected:
  void TearDown() override {
    longship_shutdown();
    ::unsetenv("LONGSHIP_RECORD");
    ::unsetenv("WORLD_SIZE");
  }
};

TEST_F(AbiTest, NothingWorksBeforeInitButSaysSo) {
  EXPECT_EQ(longship_initialized(), 0);
  EXPECT_EQ(longship_rank(), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "not initialised: call init() first");
  EXPECT_EQ(longship_shutdown(), LONGSHIP_OK);
}

TEST_F(AbiTest, InitAndShutdownManyTimes) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(longship_init(), LONGSHIP_OK) << longship_last_error();
    EXPECT_EQ(longship_init(), LONGSHIP_OK);
    EXPECT_EQ(longship_size(), 1);
    EXPECT_EQ(longship_shutdown(), LONGSHIP_OK);
  }
}

TEST_F(AbiTest, OperationsBeginPollAndWait) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  std::vector<float> values = {1, 2, 3};
  const auto handle = longship_allreduce_begin("w", values.data(), values.size(), LONGSHIP_F32, LONGSHIP_SUM);
  ASSERT_GT(handle, 0);
  while (longship_poll(handle) == 0) {
  }
  EXPECT_EQ(longship_wait(handle), LONGSHIP_OK);
  EXPECT_EQ(longship_wait(handle), LONGSHIP_USAGE);
  EXPECT_THAT(longship_last_error(), HasSubstr("there is no operation with handle"));
  EXPECT_EQ(longship_broadcast("b", values.data(), values.size(), LONGSHIP_F32, 0), LONGSHIP_OK);
  EXPECT_EQ(longship_barrier("here"), LONGSHIP_OK);
}

longship_operation operation(int kind, const char* name, void* data, size_t count, int type) {
  longship_operation asked{};
  asked.bytes = sizeof asked;
  asked.kind = kind;
  asked.name = name;
  asked.data = data;
  asked.count = count;
  asked.type = type;
  asked.prescale = asked.postscale = 1;
  return asked;
}

TEST_F(AbiTest, OneStructSaysEveryOperation) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  std::vector<float> values = {1, 2};
  const auto reduce = operation(LONGSHIP_ALLREDUCE, "w", values.data(), 2, LONGSHIP_F32);
  EXPECT_EQ(longship_run(&reduce), LONGSHIP_OK) << longship_last_error();
  const auto handle = longship_begin(&reduce);
  ASSERT_GT(handle, 0) << longship_last_error();
  EXPECT_EQ(longship_wait(handle), LONGSHIP_OK);
  const auto gather = operation(LONGSHIP_ALLGATHER, "g", values.data(), 2, LONGSHIP_F32);
  EXPECT_EQ(longship_run(&gather), LONGSHIP_USAGE);
  EXPECT_THAT(longship_last_error(), HasSubstr("begin it and wait"));
  auto wrong = reduce;
  wrong.bytes = 8;
  EXPECT_EQ(longship_begin(&wrong), LONGSHIP_USAGE);
  EXPECT_EQ(longship_begin(nullptr), LONGSHIP_USAGE);
  wrong = reduce;
  wrong.kind = 77;
  EXPECT_EQ(longship_begin(&wrong), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "77: there is no such kind of operation");
}

TEST_F(AbiTest, WhatTravelsMayBeNarrowerAndCallersThatKnowNothingOfItGoOn) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  std::vector<float> values = {1, 2};
  auto asked = operation(LONGSHIP_ALLREDUCE, "w", values.data(), 2, LONGSHIP_F32);
  asked.wire = LONGSHIP_BF16;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_OK) << longship_last_error();
  asked.wire = LONGSHIP_F64;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_USAGE);
  EXPECT_THAT(longship_last_error(), HasSubstr("only f32 can be sent as f16 or bf16"));
  asked.wire = 99;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "99: there is no such type for the wire");
  asked.bytes = offsetof(longship_operation, wire);  // as it was before there was such a field
  EXPECT_EQ(longship_run(&asked), LONGSHIP_OK) << longship_last_error();
}

TEST_F(AbiTest, WithoutNcclTensorsOnGpusAreRefusedInWords) {
  EXPECT_EQ(longship_nccl_open(0), LONGSHIP_USAGE);
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  float value = 0;
  auto asked = operation(LONGSHIP_ALLREDUCE, "w", &value, 1, LONGSHIP_F32);
  asked.device = 1;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_FAILED);
  EXPECT_STREQ(longship_last_error(), "\"w\" is on GPUs: call longship_nccl_open for process set 0 first");
  ::setenv("LONGSHIP_NCCL", "/nowhere/libnccl.so.2", 1);
  EXPECT_EQ(longship_nccl_open(0), LONGSHIP_FAILED);
  EXPECT_THAT(longship_last_error(), HasSubstr("/nowhere/libnccl.so.2"));
  ::unsetenv("LONGSHIP_NCCL");
  EXPECT_EQ(longship_nccl_open(7), LONGSHIP_USAGE);
}

TEST_F(AbiTest, GatheredElementsAreReadOnce) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  const std::vector<std::int64_t> values = {4, 5};
  const auto handle = longship_allgather_begin("g", values.data(), values.size(), LONGSHIP_I64);
  ASSERT_EQ(longship_wait(handle), LONGSHIP_OK);
  uint64_t count = 0;
  EXPECT_EQ(longship_gathered_counts(handle, &count), LONGSHIP_OK);
  EXPECT_EQ(count, 2u);
  std::vector<std::int64_t> all(2);
  EXPECT_EQ(longship_gathered(handle, all.data(), 1), LONGSHIP_USAGE);
  EXPECT_EQ(longship_gathered(handle, all.data(), 16), LONGSHIP_OK);
  EXPECT_EQ(all, values);
  EXPECT_EQ(longship_gathered(handle, all.data(), 16), LONGSHIP_USAGE);
}

TEST_F(AbiTest, ResultsOfAnotherSizeAreReadAfterTheWait) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  std::vector<float> values = {1, 2, 3, 4}, got(4);
  const uint64_t splits[] = {4};
  auto asked = operation(LONGSHIP_ALLTOALL, "a", values.data(), 4, LONGSHIP_F32);
  asked.splits = splits;
  for (const int kind : {LONGSHIP_ALLTOALL, LONGSHIP_REDUCESCATTER}) {
    asked.kind = kind;
    asked.row = 2;
    const auto handle = longship_begin(&asked);
    ASSERT_EQ(longship_wait(handle), LONGSHIP_OK) << longship_last_error();
    uint64_t count = 0;
    EXPECT_EQ(longship_gathered_counts(handle, &count), LONGSHIP_OK);
    EXPECT_EQ(count, 4u);
    EXPECT_EQ(longship_gathered(handle, got.data(), 16), LONGSHIP_OK);
    EXPECT_EQ(got, values);
  }
  const auto join = operation(LONGSHIP_JOIN, nullptr, nullptr, 0, LONGSHIP_U8);
  const auto handle = longship_begin(&join);
  ASSERT_EQ(longship_wait(handle), LONGSHIP_OK) << longship_last_error();
  EXPECT_EQ(longship_joined(handle), 0);
  EXPECT_EQ(longship_joined(handle), LONGSHIP_USAGE);
}

TEST_F(AbiTest, ScalesAndNanReachTheEngine) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  std::vector<double> values = {1, 2};
  auto asked = operation(LONGSHIP_ALLREDUCE, "w", values.data(), 2, LONGSHIP_F64);
  asked.prescale = 3;
  asked.postscale = 0.5;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_OK);
  EXPECT_EQ(values, (std::vector<double>{1.5, 3}));
  EXPECT_EQ(longship_nan_count(), 0);
  values[0] = std::nan("");
  EXPECT_EQ(longship_run(&asked), LONGSHIP_OK);
  EXPECT_EQ(longship_nan_count(), 1);
}

TEST_F(AbiTest, TheTableOfSchedulesIsText) {
  EXPECT_EQ(longship_schedules(), nullptr);
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  ASSERT_NE(longship_schedules(), nullptr) << longship_last_error();
  EXPECT_THAT(longship_schedules(), HasSubstr("all-reduce by 1 rank on 1 node\n"));
}

TEST_F(AbiTest, ProcessSetsAreMadeAskedAndRemoved) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  EXPECT_EQ(longship_cross_rank(), 0);
  EXPECT_EQ(longship_cross_size(), 1);
  EXPECT_EQ(longship_process_set_size(0), 1);
  const int rank = 0;
  const int set = longship_process_set_add(&rank, 1);
  ASSERT_EQ(set, 1) << longship_last_error();
  EXPECT_EQ(longship_process_set_size(set), 1);
  EXPECT_EQ(longship_process_set_rank(set), 0);
  int ranks = -1;
  EXPECT_EQ(longship_process_set_ranks(set, &ranks), LONGSHIP_OK);
  EXPECT_EQ(ranks, 0);
  float value = 2;
  auto asked = operation(LONGSHIP_ALLREDUCE, "w", &value, 1, LONGSHIP_F32);
  asked.process_set = set;
  EXPECT_EQ(longship_run(&asked), LONGSHIP_OK) << longship_last_error();
  EXPECT_EQ(longship_process_set_remove(set), LONGSHIP_OK);
  EXPECT_EQ(longship_process_set_size(set), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "there is no process set 1");
  EXPECT_EQ(longship_run(&asked), LONGSHIP_FAILED);
  EXPECT_EQ(longship_process_set_remove(0), LONGSHIP_USAGE);
  const int wrong = 3;
  EXPECT_EQ(longship_process_set_add(&wrong, 1), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "a process set with rank 3: there are only 1");
}

TEST_F(AbiTest, WrongArgumentsAreNamed) {
  ASSERT_EQ(longship_init(), LONGSHIP_OK);
  float value = 0;
  EXPECT_EQ(longship_allreduce("w", &value, 1, 99, LONGSHIP_SUM), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "99: there is no such type");
  EXPECT_EQ(longship_allreduce("w", &value, 1, LONGSHIP_F32, -1), LONGSHIP_USAGE);
  EXPECT_EQ(longship_allreduce(nullptr, &value, 1, LONGSHIP_F32, LONGSHIP_SUM), LONGSHIP_USAGE);
  EXPECT_EQ(longship_allreduce("w", nullptr, 1, LONGSHIP_F32, LONGSHIP_SUM), LONGSHIP_USAGE);
  EXPECT_EQ(longship_broadcast("w", &value, 1, LONGSHIP_F32, 1), LONGSHIP_USAGE);
  EXPECT_STREQ(longship_last_error(), "broadcast of \"w\" from rank 1: there are only 1");
}

TEST_F(AbiTest, AnEnvironmentThatMakesNoSenseIsAnErrorOfInit) {
  ::setenv("WORLD_SIZE", "many", 1);
  EXPECT_EQ(longship_init(), LONGSHIP_USAGE);
  EXPECT_THAT(longship_last_error(), HasSubstr("WORLD_SIZE=many"));
}

TEST_F(AbiTest, SecondsThatAreNoneAreNamed) {
  for (const char* const name : {"LONGSHIP_STALL_WARNING", "LONGSHIP_PATIENCE"}) {
    ::setenv(name, "soon", 1);
    EXPECT_EQ(longship_init(), LONGSHIP_USAGE);
    EXPECT_EQ(longship_last_error(), std::string(name) + "=soon: not a number of seconds");
    ::setenv(name, "0", 1);
    EXPECT_EQ(longship_init(), name == std::string("LONGSHIP_PATIENCE") ? LONGSHIP_USAGE : LONGSHIP_OK);
    longship_shutdown();
    ::unsetenv(name);
  }
}

TEST_F(AbiTest, RecordsWhereTheEnvironmentSays) {
  const longship::TemporaryDirectory directory;
  ::setenv("LONGSHIP_RECORD", directory.path().c_str(), 1);
  ASSERT_EQ(longship_init(), LONGSHIP_OK) << longship_last_error();
  EXPECT_EQ(longship_recording(), 1);
  const auto begin = longship_now();
  EXPECT_EQ(longship_span(LONGSHIP_INPUT, "batch", begin, longship_now()), LONGSHIP_OK);
  EXPECT_EQ(longship_span(17, "batch", begin, longship_now()), LONGSHIP_USAGE);
  const char* const name = "loss";
  const double value = 0.5;
  EXPECT_EQ(longship_metrics(1, 2, &name, &value, 1), LONGSHIP_OK);
  longship_shutdown();
  EXPECT_GT(std::filesystem::file_size(directory.path() / "rank-00000.rec"), 0u);
}

std::vector<std::uint64_t> steps_in(const std::filesystem::path& directory) {
  std::vector<std::uint64_t> steps;
  for (const auto& metrics : longship::record::read_log(directory / "rank-00000.rec").metrics)
    steps.push_back(metrics.step);
  return steps;
}

TEST_F(AbiTest, RecordsWithoutASession) {
  const longship::TemporaryDirectory directory;
  ::setenv("LONGSHIP_RECORD", directory.path().c_str(), 1);
  const char* const name = "loss";
  const double value = 0.5;
  EXPECT_EQ(longship_recording(), 1);
  EXPECT_EQ(longship_metrics(1, 2, &name, &value, 1), LONGSHIP_OK);
  EXPECT_EQ(longship_metrics(2, 2, &name, &value, 1), LONGSHIP_OK);
  longship_shutdown();
  EXPECT_EQ(steps_in(directory.path()), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(AbiTest, WhatComesAfterASessionDoesNotHideIt) {
  const longship::TemporaryDirectory directory;
  ::setenv("LONGSHIP_RECORD", directory.path().c_str(), 1);
  const char* const name = "loss";
  const double value = 0.5;
  EXPECT_EQ(longship_metrics(1, 3, &name, &value, 1), LONGSHIP_OK);
  ASSERT_EQ(longship_init(), LONGSHIP_OK) << longship_last_error();
  EXPECT_EQ(longship_metrics(2, 3, &name, &value, 1), LONGSHIP_OK);
  longship_shutdown();
  EXPECT_EQ(longship_recording(), 0);
  EXPECT_EQ(longship_metrics(3, 3, &name, &value, 1), LONGSHIP_OK);
  longship_shutdown();
  EXPECT_EQ(steps_in(directory.path()), std::vector<std::uint64_t>{2});
}

TEST_F(AbiTest, ARecordThatCannotBeWrittenDoesNotStopTheTraining) {
  ::setenv("LONGSHIP_RECORD", "/dev/null/record", 1);
  const char* const name = "loss";
  const double value = 0.5;
  EXPECT_EQ(longship_metrics(1, 3, &name, &value, 1), LONGSHIP_OK);
  EXPECT_EQ(longship_recording(), 0);
}

}  // namespace
