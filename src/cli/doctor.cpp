// SPDX-License-Identifier: Apache-2.0
// longship doctor: what this machine can and cannot do, each "no" with its remedy.
#include <fmt/core.h>

#include <cstdio>

#include "base/text.h"
#include "command.h"
#include "formats/document.h"
#include "host_checks.h"
#include "table.h"
#include "terminal.h"

namespace longship::cli {
namespace {

std::string_view mark(const Check& check, bool colour) {
  switch (check.verdict) {
    case Verdict::yes:
      return colour ? "\033[32m✓\033[0m" : "✓";
    case Verdict::no:
      return colour ? "\033[31m✗\033[0m" : "✗";
    default:
      return "·";
  }
}

void print_table(const std::vector<Check>& checks) {
  const bool colour = terminal(1).colour;
  TextTable table({{""}, {""}, {""}});
  for (const auto& check : checks) {
    table.add({std::string(mark(check, colour)), check.name, printable(check.detail)});
    if (!check.remedy.empty()) table.add({"", "", "→ " + printable(check.remedy)});
  }
  const std::string text = table.text();
  fmt::print("{}", text.substr(text.find('\n') + 1));  // without the line of titles
}

void print_json(const std::vector<Check>& checks, bool boxes) {
  formats::Array list;
  for (const auto& check : checks) {
    formats::Table entry;
    entry.set("name", check.name);
    entry.set("verdict", check.verdict == Verdict::yes  ? "yes"
                         : check.verdict == Verdict::no ? "no"
                                                        : "absent");
    entry.set("detail", check.detail);
    entry.set("remedy", check.remedy);
    list.emplace_back(std::move(entry));
  }
  formats::Table all;
  all.set("boxes", boxes);
  all.set("checks", std::move(list));
  fmt::print("{}\n", formats::dump_json(std::move(all), formats::Layout::pretty));
}

void run(Context& context) {
  const auto checks = check_host();
  const bool boxes = can_run_boxes(checks);
  if (context.json)
    print_json(checks, boxes);
  else
    print_table(checks);
  if (!boxes) context.exit_code = 3;
}

}  // namespace

void add_doctor(Command& app, Context& context) {
  auto& command = app.command("doctor", "What this machine can and cannot do, and what to do about it");
  command.footer =
      examples(
          "  longship doctor\n"
          "  longship doctor --json\n") +
      "\nEach line was found by trying. ✓ works, ✗ does not and is missed, · is not there and need not be.\n"
      "The exit code is 0 if boxes can run here and 3 if not.";
  command.action = [&context] { run(context); };
}

}  // namespace longship::cli
