// SPDX-License-Identifier: Apache-2.0
#include "gpu_shares.h"

#include <charconv>
#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace longship::launch {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || rest != text.data() + text.size()) return {};
  return value;
}

// "0,2-3" or "GPU-8f3a…,GPU-…"; Slurm says NoDevFiles for none at all.
std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> gpus;
  if (text == "NoDevFiles") return gpus;
  for (auto word : split(text, ',')) {
    word = trim(word);
    const auto hyphen = word.find('-');
    const auto first = number(word.substr(0, hyphen));
    const auto last = hyphen == std::string_view::npos ? first : number(word.substr(hyphen + 1));
    if (first && last && *last - *first < 1024)
      for (int gpu = *first; gpu <= *last; ++gpu) gpus.push_back(std::to_string(gpu));
    else if (!word.empty())
      gpus.emplace_back(word);
  }
  return gpus;
}

std::vector<std::string> first_said(const Environment& host, std::initializer_list<const char*> names,
                                    int wanted) {
  for (const char* name : names)
    if (const auto found = host.find(name); found != host.end()) return parse_list(found->second);
  std::vector<std::string> gpus;
  gpus.reserve(static_cast<std::size_t>(wanted));
  for (int gpu = 0; gpu < wanted; ++gpu) gpus.push_back(std::to_string(gpu));
  return gpus;
}

}  // namespace

std::vector<std::string> gpus_given(const Environment& host, int wanted) {
  return first_said(host,
                    {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "SLURM_STEP_GPUS",
                     "SLURM_JOB_GPUS"},
                    wanted);
}

std::vector<std::string> gpus_of_node(const Environment& host, int wanted) {
  return first_said(host,
                    {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                     "ZE_AFFINITY_MASK"},
                    wanted);
}

std::vector<std::string> gpus_of_rank(const std::vector<std::string>& given, int rank, int each, bool alone) {
  const auto size = static_cast<std::size_t>(each);
  if (alone && given.size() == size) return given;
  const auto begin = static_cast<std::size_t>(rank) * size;
  if (begin + size > given.size())
    throw Error(Failure::impossible,
                "rank {} of this node is to have {}, and all that was given here are {}: ask the batch "
                "system for more (--gres=gpu:N), or start fewer ranks on a node",
                rank, counted(each, "GPU"), given.empty() ? "none" : printable(join(given, ", ")));
  const auto from = given.begin() + static_cast<std::ptrdiff_t>(begin);
  return {from, from + each};
}

Environment variables_for(const std::vector<std::string>& gpus) {
  const auto list = join(gpus, ",");
  return {{"CUDA_VISIBLE_DEVICES", list}, {"ROCR_VISIBLE_DEVICES", list}, {"ZE_AFFINITY_MASK", list}};
}

}  // namespace longship::launch
