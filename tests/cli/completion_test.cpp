// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace longship::cli {
namespace {
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    auto& run = app_.command("run", "Run a job: it's simple");
    run.option("--set,-s", text_, "Change a value");
    run.option("--launch", text_, "How", {.choices = {"ranks", "mpi"}});
    run.flag("--dry", flag_, "Only say what would be done");
    auto& image = app_.command("image", "Images");
    image.command("build", "Build one").option("-t", text_, "Its name");
    image.command("ls", "List them");
    auto& completion = app_.command("completion", "Completion");
    completion.argument("SHELL", text_, "Which", {.choices = {"bash", "zsh"}});
  }

  // What bash itself would offer for these words, the last of which is being typed.
  [[nodiscard]] std::vector<std::string> offered(const std::vector<std::string>& words) const {
    const auto script = directory_.path() / "longship.bash";
    write_file(script, bash_completion(app_));
    const auto line = "set -eu; source " + script.string() +
                      "; complete -p longship >/dev/null; COMP_WORDS=(" + as_typed(words) +
                      "); COMP_CWORD=" + std::to_string(words.size() - 1) +
                      "; _longship; printf '%s\\n' ${COMPREPLY[@]+\"${COMPREPLY[@]}\"}";
    std::vector<std::string> found;
    const auto output =
        output_of({.arguments = {"bash", "--norc", "-c", line}, .environment = {}, .directory = {}});
    for (const auto word : split(output, '\n'))
      if (!word.empty()) found.emplace_back(word);
    return found;
  }

  TemporaryDirectory directory_;
  Command app_{"longship", "Longship"};
  std::string text_;
  bool flag_ = false;
};

TEST_F(CompletionTest, BashOffersTheCommands) {
  EXPECT_THAT(offered({"longship", ""}), UnorderedElementsAre("run", "image", "completion"));
  EXPECT_THAT(offered({"longship", "r"}), UnorderedElementsAre("run"));
  EXPECT_THAT(offered({"longship", "image", ""}), UnorderedElementsAre("build", "ls"));
}

TEST_F(CompletionTest, BashOffersTheOptionsOfTheCommand) {
  EXPECT_THAT(offered({"longship", "run", "--"}),
              UnorderedElementsAre("--help", "--set", "--launch", "--dry"));
  EXPECT_THAT(offered({"longship", "image", "build", "-"}), IsSupersetOf({"-t", "-h", "--help"}));
}

TEST_F(CompletionTest, BashOffersTheValuesOfAnOption) {
  EXPECT_THAT(offered({"longship", "run", "--launch", ""}), UnorderedElementsAre("ranks", "mpi"));
  EXPECT_THAT(offered({"longship", "completion", "z"}), UnorderedElementsAre("zsh"));
}

TEST_F(CompletionTest, BashLeavesFileNamesToItself) {
  EXPECT_THAT(offered({"longship", "run", "--set", ""}), UnorderedElementsAre());
  EXPECT_THAT(offered({"longship", "run", "job"}), UnorderedElementsAre());
  EXPECT_THAT(offered({"longship", "run", "--", "--s"}), UnorderedElementsAre());
}

TEST_F(CompletionTest, TheValueOfAnOptionIsNoCommand) {
  EXPECT_THAT(offered({"longship", "run", "--set", "image", "--d"}), UnorderedElementsAre("--dry"));
}

TEST_F(CompletionTest, ZshAndFishScriptsHaveNoSyntaxErrors) {
  const std::pair<std::string, std::string> scripts[] = {{"zsh", zsh_completion(app_)},
                                                         {"fish", fish_completion(app_)}};
  for (const auto& [shell, text] : scripts) {
    EXPECT_THAT(text, HasSubstr("image build"));
    EXPECT_THAT(text, HasSubstr("ranks mpi"));
    if (!find_program(shell)) continue;
    const auto script = directory_.path() / shell;
    write_file(script, text);
    EXPECT_EQ(output_of({.arguments = {shell, "-n", script.string()}, .environment = {}, .directory = {}}),
              "");
  }
}

}  // namespace
}  // namespace longship::cli
