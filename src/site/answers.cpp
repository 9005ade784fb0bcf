// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace longship::site {
namespace {

// The number at the start: "4+" means that there are larger ones too.
std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > 1'000'000'000) return {};
  return number;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return leading_number(text);
}

int smaller(int known, int another) {
  return known == 0 ? another : std::min(known, another);
}

// "1-64", "4", "1-infinite".
int largest_job(std::string_view size, int nodes) {
  const auto dash = size.rfind('-');
  const auto most = whole_number(dash == std::string_view::npos ? size : size.substr(dash + 1));
  return most && *most > 0 ? static_cast<int>(std::min<std::int64_t>(*most, nodes)) : nodes;
}

Partition& partition_called(std::vector<Partition>& partitions, std::string_view name) {
  const bool is_default = name.ends_with('*');
  if (is_default) name.remove_suffix(1);
  for (auto& known : partitions)
    if (known.name == name) return known;
  partitions.push_back({.name = std::string(name), .is_default = is_default});
  return partitions.back();
}

std::string without_parentheses(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')' && depth > 0) --depth;
  }
  return plain;
}

std::string_view version_in(std::string_view text) {
  const auto start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return {};
  const auto end = text.find_first_not_of("0123456789.", start);
  return text.substr(start, end == std::string_view::npos ? end : end - start);
}

std::string_view line_with(std::string_view text, std::string_view words) {
  for (const auto line : split(text, '\n'))
    if (line.find(words) != std::string_view::npos) return line;
  return {};
}

}  // namespace

std::vector<Partition> parse_sinfo(std::string_view text) {
  std::vector<Partition> partitions;
  for (const auto line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    const auto nodes = fields.size() == 8 ? whole_number(fields[4]) : std::nullopt;
    if (!nodes || fields[0].empty() || fields[0] == "*") continue;
    auto& partition = partition_called(partitions, fields[0]);
    partition.up = fields[1] == "up";
    partition.max_walltime = parse_slurm_time(fields[2]).value_or(std::chrono::seconds(0));
    partition.nodes = static_cast<int>(std::min<std::int64_t>(1'000'000, partition.nodes + *nodes));
    partition.max_nodes = largest_job(fields[3], partition.nodes);
    const bool first = partition.cores == 0;
    partition.cores = smaller(partition.cores, static_cast<int>(leading_number(fields[5]).value_or(0)));
    // One MiB is what Slurm says of nodes whose memory nobody configured.
    if (const auto memory = leading_number(fields[6]); memory && *memory > 1) {
      const auto bytes = static_cast<std::uint64_t>(*memory) << 20;
      partition.memory = partition.memory == 0 ? bytes : std::min(partition.memory, bytes);
    }
    const int gpus = parse_gres(fields[7]);
    partition.gpus = first ? gpus : std::min(partition.gpus, gpus);
  }
  return partitions;
}

std::optional<std::chrono::seconds> parse_slurm_time(std::string_view text) {
  if (text == "infinite" || text == "UNLIMITED") return std::chrono::seconds(0);
  std::int64_t days = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto found = whole_number(text.substr(0, dash));
    if (!found) return {};
    days = *found;
    text = text.substr(dash + 1);
  }
  std::vector<std::int64_t> parts;
  for (const auto part : split(text, ':')) {
    const auto number = whole_number(part);
    if (!number) return {};
    parts.push_back(*number);
  }
  if (parts.size() > 3) return {};
  // After days come hours; alone stand minutes; two are minutes and seconds.
  if (dash != std::string_view::npos || parts.size() == 3)
    parts.resize(3);
  else
    parts.insert(parts.begin(), 0), parts.resize(3);
  return std::chrono::seconds(((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]);
}

int parse_gres(std::string_view text) {
  std::int64_t gpus = 0;
  const auto plain = without_parentheses(text);
  for (const auto entry : split(plain, ',')) {
    const auto parts = split(entry, ':');
    if (parts[0] != "gpu") continue;
    gpus += parts.size() == 1 ? 1 : whole_number(parts.back()).value_or(1);
  }
  return static_cast<int>(std::min<std::int64_t>(gpus, 1024));
}

std::map<std::string, std::string, std::less<>> parse_config(std::string_view text) {
  std::map<std::string, std::string, std::less<>> config;
  for (const auto line : split(text, '\n'))
    if (const auto equals = line.find('='); equals != std::string_view::npos)
      config.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
  return config;
}

std::vector<std::string> parse_mpi_plugins(std::string_view text) {
  std::vector<std::string> plugins;
  const auto add = [&](std::string_view word) {
    if (!word.empty() && word != "none" && std::find(plugins.begin(), plugins.end(), word) == plugins.end())
      plugins.emplace_back(word);
  };
  for (auto line : split(text, '\n')) {
    if (line.starts_with("srun: ")) line.remove_prefix(6);  // as before Slurm 21
    line = trim(line);
    constexpr std::string_view versions = "plugin versions available:";
    if (const auto at = line.find(versions); at != std::string_view::npos)
      for (const auto word : split(line.substr(at + versions.size()), ',')) add(trim(word));
    else if (line.find(' ') == std::string_view::npos)
      add(line);
  }
  return plugins;
}

std::optional<HostMpi> parse_mpi_version(std::string_view text) {
  for (const auto* word : {"(Open MPI)", "(OpenRTE)"})
    if (const auto line = line_with(text, word); !line.empty())
      return HostMpi{"openmpi", std::string(version_in(line.substr(line.find(')')))), ""};
  if (const auto line = line_with(text, "Intel(R) MPI"); !line.empty()) {
    const auto at = line.find("Version");
    return HostMpi{"mpich", std::string(at == std::string_view::npos ? "" : version_in(line.substr(at))), ""};
  }
  const bool hydra = text.find("HYDRA") != std::string_view::npos,
             mpich = text.find("MPICH") != std::string_view::npos;
  if (!hydra && !mpich) return {};
  return HostMpi{"mpich", std::string(version_in(line_with(text, "Version:"))), ""};
}

std::string find_mpi_library(std::string_view ldconfig, std::string_view family) {
  constexpr std::array<std::string_view, 2> openmpi = {"libmpi.so.40", "libmpi.so.20"};
  constexpr std::array<std::string_view, 2> mpich = {"libmpi.so.12", "libmpich.so.12"};
  for (const auto wanted : family == "openmpi" ? openmpi : mpich)
    for (const auto whole : split(ldconfig, '\n')) {
      const auto line = trim(whole);
      const auto arrow = line.find("=> ");
      if (arrow != std::string_view::npos && line.starts_with(wanted) &&
          line.substr(wanted.size()).starts_with(' '))
        return std::string(trim(line.substr(arrow + 3)));
    }
  return "";
}

}  // namespace longship::site
