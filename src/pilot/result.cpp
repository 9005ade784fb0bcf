// SPDX-License-Identifier: Apache-2.0
#include "result.h"

#include "formats/digest.h"
#include "formats/document.h"

namespace longship::pilot {
namespace {

using formats::Array;
using formats::Table;
using formats::Value;

Value failure_of(const launch::FailedRank& failed) {
  Table table;
  table.set("rank", failed.rank);
  table.set("node", failed.node);
  table.set("exit_code", failed.ending.exit_code());
  table.set("last_lines", failed.last_lines);
  return table;
}

Value outputs_of(const Kept& kept) {
  Array list;
  for (const auto& output : kept.outputs) {
    Table table;
    table.set("name", output.name);
    table.set("size", output.size);
    list.emplace_back(std::move(table));
  }
  return list;
}

}  // namespace

std::string result_json(const Attempt& attempt, const Task& task, const Ground& ground,
                        const Outcome& outcome) {
  Table table;
  table.set("version", 1);
  table.set("run", attempt.name());
  table.set("state", name_of(outcome.state));
  table.set("exit_code", outcome.exit_code);
  if (!outcome.reason.empty()) table.set("reason", outcome.reason);
  table.set("seconds", static_cast<double>(outcome.duration.count()) / 1000);
  table.set("nodes", ground.nodes);
  table.set("ranks", ground.nodes * task.job.needs.ranks_per_node);
  table.set("image", ground.image ? Value(ground.image->root) : Value(ground.root.string()));
  if (!task.bundle.empty()) table.set("code", formats::digest_of_file(task.bundle));
  if (outcome.ranks.failure) table.set("failure", failure_of(*outcome.ranks.failure));
  table.set("outputs", outputs_of(outcome.kept));
  table.set("job", formats::parse_json(job::to_json(task.job), "job"));
  return formats::dump_json(table, formats::Layout::pretty) + "\n";
}

}  // namespace longship::pilot
