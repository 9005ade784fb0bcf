// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "formats/document.h"
#include "formats/fields.h"

namespace longship::launch {
namespace {

using formats::Fields;
using formats::Table;

constexpr std::size_t longest_payload = 960;
constexpr std::size_t longest_word = 1u << 20;

const formats::Choices<Cause> cause_names = {{"finished", Cause::finished},
                                             {"rank failed", Cause::rank_failed},
                                             {"signal", Cause::signal},
                                             {"stopped", Cause::stopped}};

std::string_view name_of(Cause cause) {
  for (const auto& [name, value] : cause_names)
    if (value == cause) return name;
  return "stopped";
}

Table table_of(const Hello& hello) {
  Table table;
  table.set("word", "hello");
  table.set("node", hello.node);
  return table;
}

Table table_of(const Rendezvous& rendezvous) {
  Table table;
  table.set("word", "rendezvous");
  table.set("host", rendezvous.host);
  table.set("port", rendezvous.port);
  table.set("master_port", rendezvous.master_port);
  return table;
}

Table table_of(const Failed& failed) {
  Table table;
  table.set("word", "failed");
  table.set("rank", failed.rank.rank);
  table.set("node", failed.rank.node);
  table.set("code", failed.rank.ending.code);
  table.set("signal", failed.rank.ending.signal);
  table.set("last_lines", failed.rank.last_lines);
  return table;
}

Table table_of(const Ended& ended) {
  Table table;
  table.set("word", "ended");
  table.set("cause", name_of(ended.cause));
  table.set("exit_code", ended.exit_code);
  return table;
}

Table table_of(const Trouble& trouble) {
  Table table;
  table.set("word", "trouble");
  table.set("failure", static_cast<int>(trouble.failure));
  table.set("text", trouble.text);
  return table;
}

int small(const Fields& fields, std::string_view key, std::int64_t most = 1 << 30) {
  return static_cast<int>(fields.integer(key, {0, most}));
}

Rendezvous read_rendezvous(const Fields& fields) {
  return {fields.text("host"), static_cast<std::uint16_t>(small(fields, "port", 65535)),
          static_cast<std::uint16_t>(small(fields, "master_port", 65535))};
}

Failed read_failed(const Fields& fields) {
  return {{small(fields, "rank"),
           fields.text("node"),
           {small(fields, "code", 255), small(fields, "signal", 127)},
           fields.text("last_lines")}};
}

}  // namespace

std::string to_json(const Word& word) {
  return formats::dump_json(std::visit([](const auto& what) { return table_of(what); }, word));
}

std::string to_json(const Rendezvous& rendezvous) {
  return formats::dump_json(table_of(rendezvous));
}

Word word_from_json(std::string_view text) {
  const auto document = formats::parse_json(text, "word of a node");
  const Fields fields(document, "");
  const auto kind = fields.text("word");
  if (kind == "hello") return Hello{fields.text("node")};
  if (kind == "rendezvous") return read_rendezvous(fields);
  if (kind == "failed") return read_failed(fields);
  if (kind == "ended")
    return Ended{fields.choice("cause", cause_names, Cause::stopped), small(fields, "exit_code")};
  if (kind == "trouble")
    return Trouble{static_cast<Failure>(fields.integer("failure", {1, 3})), fields.text("text")};
  throw fields.wrong("word", "unknown: {}", kind);
}

Rendezvous rendezvous_from_json(std::string_view text) {
  const auto document = formats::parse_json(text, "rendezvous");
  return read_rendezvous(Fields(document, ""));
}

void FrameSink::say(int node, const Word& word) {
  const std::string text = to_json(word);
  std::string_view left = text;
  while (left.size() > longest_payload) {
    frame('C', node, left.substr(0, longest_payload));
    left.remove_prefix(longest_payload);
  }
  frame('c', node, left);
}

void FrameSink::take(int rank, Stream stream, std::string_view bytes) {
  const auto kind = static_cast<char>(stream);
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto length = std::min({end, bytes.size(), longest_payload});
    const bool complete = length == end;
    frame(complete ? kind : static_cast<char>(std::toupper(kind)), rank, bytes.substr(0, length));
    bytes.remove_prefix(length + (complete ? 1 : 0));
  }
}

void FrameSink::frame(char kind, int number, std::string_view payload) {
  outlet_.add(fmt::format("{}{} ", kind, number));
  outlet_.add(payload);
  outlet_.add("\n");
}

void FrameReader::feed(std::string_view bytes) {
  lines_.feed(bytes, [this](std::string_view line) { on_line(line); });
}

void FrameReader::on_line(std::string_view line) {
  const char kind = line.empty() ? '\0' : line[0];
  const auto space = line.find(' ');
  int number = 0;
  if (space == std::string_view::npos || std::string_view("oeOEcC").find(kind) == std::string_view::npos ||
      std::from_chars(line.data() + 1, line.data() + space, number).ptr != line.data() + space)
    return handlers_.other(line);
  const bool complete = std::islower(static_cast<unsigned char>(kind)) != 0;
  const auto payload = line.substr(space + 1);
  if (kind == 'c' || kind == 'C') return on_word(number, payload, complete);
  const auto stream = static_cast<Stream>(std::tolower(kind));
  handlers_.output(number, stream, payload);
  if (complete) handlers_.output(number, stream, "\n");
}

void FrameReader::on_word(int node, std::string_view piece, bool complete) {
  auto& text = words_[node];
  text.append(piece);
  if (text.size() > longest_word) throw Error("node {}: its helper's word has no end", node);
  if (!complete) return;
  const auto word = word_from_json(text);
  text.clear();
  handlers_.word(node, word);
}

}  // namespace longship::launch
