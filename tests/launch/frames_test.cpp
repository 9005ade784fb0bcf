// SPDX-License-Identifier: Apache-2.0
#include "launch/frames.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "expect.h"

namespace longship::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Received {
  std::map<std::pair<int, Stream>, std::string> output;
  std::vector<std::pair<int, Word>> words;
  std::vector<std::string> others;
  FrameReader reader{{[this](int rank, Stream stream, std::string_view bytes) {
                        output[{rank, stream}] += bytes;
                      },
                      [this](int node, const Word& word) { words.emplace_back(node, word); },
                      [this](std::string_view line) { others.emplace_back(line); }}};
};

// What a sink wrote, as lines.
std::vector<std::string> sent(FrameSink& sink, const Pipe& pipe) {
  std::string text;
  while (sink.outlets()[0]->waiting()) {
    sink.outlets()[0]->write_some();
    char buffer[8192];
    const auto got = ::read(pipe.read.get(), buffer, sizeof buffer);
    text.append(buffer, static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  LineSplitter splitter(4096);
  splitter.feed(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

TEST(Frames, OutputArrivesByteForByte) {
  const Pipe pipe = make_pipe();
  FrameSink sink(pipe.write.get());
  const std::string text =
      "a line\n\n o1 not a frame\r\nbytes \xff\x01" + std::string(5000, 'x') + "\nno end";
  sink.take(3, Stream::out, text);
  sink.take(4, Stream::err, "other\n");
  Received received;
  for (const auto& line : sent(sink, pipe)) {
    EXPECT_LE(line.size(), 1000u) << "srun keeps only short lines whole";
    received.reader.feed(line + "\n");
  }
  EXPECT_EQ((received.output[{3, Stream::out}]), text);
  EXPECT_EQ((received.output[{4, Stream::err}]), "other\n");
  EXPECT_TRUE(received.others.empty());
}

TEST(Frames, WordsOfSeveralNodesMayBeMixed) {
  const Pipe pipe = make_pipe();
  FrameSink first(pipe.write.get()), second(pipe.write.get());
  const FailedRank failed{2, "node1", {0, 11}, std::string(3000, 'e') + "\n"};
  first.say(0, Failed{failed});
  second.say(1, Trouble{Failure::impossible, std::string(2500, 't')});
  const auto a = sent(first, pipe), b = sent(second, pipe);
  Received received;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) received.reader.feed(a[i] + "\n");
    if (i < b.size()) received.reader.feed(b[i] + "\n");
  }
  ASSERT_EQ(received.words.size(), 2u);
  const auto& trouble = std::get<Trouble>(received.words[0].second);
  EXPECT_EQ(received.words[0].first, 1);
  EXPECT_EQ(trouble.failure, Failure::impossible);
  EXPECT_EQ(trouble.text.size(), 2500u);
  const auto& arrived = std::get<Failed>(received.words[1].second).rank;
  EXPECT_EQ(arrived.rank, 2);
  EXPECT_EQ(arrived.ending.signal, 11);
  EXPECT_EQ(arrived.last_lines, failed.last_lines);
}

TEST(Frames, EveryWordComesBackAsItWas) {
  EXPECT_EQ(std::get<Hello>(word_from_json(to_json(Word(Hello{"node1"})))).node, "node1");
  const auto rendezvous =
      std::get<Rendezvous>(word_from_json(to_json(Word(Rendezvous{"10.0.0.1", 1234, 5678}))));
  EXPECT_EQ(rendezvous.host, "10.0.0.1");
  EXPECT_EQ(rendezvous.port, 1234);
  EXPECT_EQ(rendezvous.master_port, 5678);
  const auto ended = std::get<Ended>(word_from_json(to_json(Word(Ended{Cause::signal, 130}))));
  EXPECT_EQ(ended.cause, Cause::signal);
  EXPECT_EQ(ended.exit_code, 130);
}

TEST(Frames, WhatTheBatchSystemSaysIsNoFrame) {
  Received received;
  received.reader.feed("srun: job 12 queued\n\nox 3\n");
  EXPECT_THAT(received.others, ElementsAre("srun: job 12 queued", "", "ox 3"));
}

TEST(Frames, UnknownWordIsAnError) {
  EXPECT_THAT(message_of([] { (void)word_from_json(R"({"word": "sing"})"); }), HasSubstr("sing"));
}

TEST(Frames, PortOutOfRangeIsAnError) {
  EXPECT_THAT(
      message_of([] { (void)rendezvous_from_json(R"({"host": "x", "port": 70000, "master_port": 1})"); }),
      HasSubstr("65535"));
}

TEST(Frames, WordWithoutEndDoesNotEatTheMemory) {
  Received received;
  const auto piece = "C0 " + std::string(1000, '{') + "\n";
  EXPECT_THAT(message_of([&] {
                for (int i = 0; i < 3000; ++i) received.reader.feed(piece);
              }),
              HasSubstr("no end"));
}

}  // namespace
}  // namespace longship::launch
