// SPDX-License-Identifier: Apache-2.0
// longship study export, plot: a study for other programs, and as a page of pictures.
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/say.h"
#include "study_commands.h"
#include "study_open.h"
#include "sweep/describe.h"
#include "sweep/page.h"

namespace longship::cli {
namespace {

struct Words {
  StudyWords study;
  std::string format = "csv", output;
};

void write(const std::string& text, const std::string& output) {
  if (output.empty() || output == "-")
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file(output, text);
}

void export_study(const Words& words, const Context& context) {
  const auto open = open_study(words.study);
  const auto* file = open.file ? &*open.file : nullptr;
  const bool json = context.json || words.format == "json";
  write(json ? formats::dump_json(sweep::study_json(*open.study, file)) + "\n"
             : sweep::study_csv(*open.study, file),
        words.output);
}

void plot(const Words& words, const Context& context) {
  const auto open = open_study(words.study);
  const auto output = words.output.empty() ? open.study->name() + ".html" : words.output;
  write(sweep::page(sweep::study_json(*open.study, open.file ? &*open.file : nullptr)), output);
  formats::Table table;
  table.set("file", output);
  if (context.json)
    std::printf("%s\n", formats::dump_json(table).c_str());
  else if (output != "-")
    note("{} shows the study in any browser", output);
}

}  // namespace

void add_study_export(Command& study, Context& context) {
  auto words = std::make_shared<Words>();
  auto& exported = study.command("export", "All trials as CSV or JSON");
  add_study_words(exported, words->study);
  exported.option("--format", words->format, "csv or json",
                  {.choices = {"csv", "json"}, .show_default = true});
  exported.option("-o,--output", words->output, "Into this file instead of to stdout", {.value = "FILE"});
  exported.footer = examples(
      "  longship study export study.toml --output trials.csv\n"
      "  longship study export study.toml --format json\n");
  exported.action = [words, &context] { export_study(*words, context); };

  auto plot_words = std::make_shared<Words>();
  auto& plotted =
      study.command("plot", "One HTML file with history, parameters, importance and the Pareto front");
  add_study_words(plotted, plot_words->study);
  plotted.option("-o,--output", plot_words->output, "The file (NAME.html)", {.value = "FILE"});
  plotted.footer = examples("  longship study plot study.toml --output study.html\n");
  plotted.action = [plot_words, &context] { plot(*plot_words, context); };
}

}  // namespace longship::cli
