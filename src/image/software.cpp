// SPDX-License-Identifier: Apache-2.0
#include "software.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "fit/elf.h"

namespace longship::image {
namespace {

constexpr std::uint64_t largest = 32u << 20;
constexpr std::string_view digits = "0123456789";

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// "11.8.89" of "11.8.89-1ubuntu"; empty if it does not begin with a number.
std::string_view numbers_of(std::string_view text) {
  auto numbers = text.substr(0, text.find_first_not_of("0123456789."));
  while (numbers.ends_with('.')) numbers.remove_suffix(1);
  return numbers.empty() || numbers.front() == '.' ? std::string_view() : numbers;
}

// --- libraries

// What follows ".so." in the name of a library: "11.8.89" of "libcudart.so.11.8.89".
std::optional<std::string_view> version_in_name(std::string_view name, std::string_view library) {
  if (!name.starts_with(library)) return {};
  const auto rest = name.substr(library.size());
  if (!rest.starts_with(".so.")) return {};
  return rest.substr(4);
}

// Wheels carry libraries under names with a digest, "libcudart-d0da41ae.so.11.0": of these the soname alone
// is left, whose first number counts.
std::optional<std::string_view> major_in_digested_name(std::string_view name, std::string_view library) {
  if (!name.starts_with(library) || !name.substr(library.size()).starts_with('-')) return {};
  const auto found = name.find(".so.");
  if (found == std::string_view::npos) return {};
  const auto rest = name.substr(found + 4);
  return rest.substr(0, rest.find_first_not_of(digits));
}

bool is_library(std::string_view name, std::string_view library) {
  return version_in_name(name, library) || major_in_digested_name(name, library);
}

// The library says "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, …"; before 4 only "PMIx 3.1.5".
std::string_view pmix_version(std::string_view content) {
  constexpr std::string_view word = "PMIx ";
  for (auto at = content.find(word); at != std::string_view::npos; at = content.find(word, at + 1))
    if (const auto version = numbers_of(content.substr(at + word.size(), 16));
        version.find('.') != std::string_view::npos)
      return version;
  return {};
}

std::string libstdcxx_version(std::string_view content) {
  const auto elf = fit::read_elf(content);
  const auto version = elf ? fit::highest(elf->has, "GLIBCXX_") : std::nullopt;
  return version ? version->text() : std::string();
}

// --- Python

// "3.11" of "usr/bin/python3.11".
std::string_view python_in_path(std::string_view path) {
  constexpr std::string_view before = "bin/python3.";
  const auto found = path.rfind(before);
  if (found == std::string_view::npos || (found != 0 && path[found - 1] != '/')) return {};
  const auto version = path.substr(found + before.size() - 2);
  return version.size() > 2 && version.find_first_not_of(digits, 2) == std::string_view::npos
             ? version
             : std::string_view();
}

// The interpreter has its whole version among its strings: "3.11.2" for "3.11".
std::string_view whole_python_version(std::string_view content, std::string_view known) {
  const std::string wanted = '\0' + std::string(known) + '.';
  for (auto at = content.find(wanted); at != std::string_view::npos; at = content.find(wanted, at + 1)) {
    const auto text = content.substr(at + 1, known.size() + 5);
    const auto end = text.find('\0');
    if (end == std::string_view::npos || end == known.size() + 1) continue;
    if (const auto version = text.substr(0, end);
        version.find_first_not_of(digits, known.size() + 1) == std::string_view::npos)
      return version;
  }
  return known;
}

// A package's name as it is typed: PyPI makes no difference between "-", "_" and case.
std::string plain_package(std::string_view name) {
  auto plain = lower(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

// Distribution names, and what we call the software.
constexpr auto packages = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"torch", "torch"},
    {"tensorflow", "tensorflow"},
    {"tensorflow-cpu", "tensorflow"},
    {"tensorflow-gpu", "tensorflow"},
    {"keras", "keras"},
    {"jax", "jax"},
    {"numpy", "numpy"},
    {"mpi4py", "mpi4py"},
    {"horovod", "horovod"},
    {"nvidia-cuda-runtime-cu11", "cuda"},
    {"nvidia-cuda-runtime-cu12", "cuda"},
    {"nvidia-cuda-runtime", "cuda"},
    {"nvidia-cudnn-cu11", "cudnn"},
    {"nvidia-cudnn-cu12", "cudnn"},
    {"nvidia-cudnn-cu13", "cudnn"},
});

// "torch" and "1.13.1" of ".../torch-1.13.1.dist-info/METADATA" and ".../torch-1.13.1-py3.11.egg-info".
std::optional<std::pair<std::string_view, std::string_view>> package_in_path(std::string_view path) {
  const auto name = name_of(path);
  if (name == "METADATA" || name == "PKG-INFO") path = path.substr(0, path.rfind('/'));
  auto directory = name_of(path);
  if (directory.ends_with(".dist-info") || directory.ends_with(".egg-info"))
    directory = directory.substr(0, directory.rfind('.'));
  else
    return {};
  const auto dash = directory.find('-');
  if (dash == std::string_view::npos) return {};
  auto version = directory.substr(dash + 1);
  version = version.substr(0, version.find("-py"));
  if (version.empty() || digits.find(version.front()) == std::string_view::npos) return {};
  const auto plain = plain_package(directory.substr(0, dash));
  for (const auto& [package, software] : packages)
    if (package == plain) return std::pair(software, version);
  return {};
}

// --- CUDA

bool is_cuda_version_file(std::string_view path) {
  const auto slash = path.rfind('/');
  const auto name = name_of(path);
  if (slash == std::string_view::npos || (name != "version.json" && name != "version.txt")) return false;
  const auto directory = name_of(path.substr(0, slash));
  return directory == "cuda" || directory.starts_with("cuda-");
}

// "CUDA Version 10.2.89", or in JSON {"cuda": {"name": "CUDA SDK", "version": "11.8.20220929"}}: of the
// latter the first two numbers mean something.
std::string cuda_in_version_file(std::string_view content) {
  constexpr std::string_view plain = "CUDA Version ";
  if (const auto at = content.find(plain); at != std::string_view::npos)
    return std::string(numbers_of(content.substr(at + plain.size(), 24)));
  const auto cuda = content.find("\"cuda\"");
  if (cuda == std::string_view::npos) return {};
  const auto rest = content.substr(cuda, 200);
  const auto key = rest.find("\"version\"");
  const auto value = key == std::string_view::npos ? key : rest.find_first_of(digits, key);
  if (value == std::string_view::npos) return {};
  const auto version = numbers_of(rest.substr(value, 24));
  const auto second = version.find('.', version.find('.') + 1);
  return std::string(version.substr(0, second));
}

// --- all of them

void keep_better(Software& known, std::string_view what, std::string_view version) {
  if (version.empty()) return;
  const auto exactness = [](std::string_view text) { return std::count(text.begin(), text.end(), '.'); };
  auto& there = known[std::string(what)];
  if (there.empty() || exactness(version) > exactness(there)) there = printable(version);
}

void add_library(std::string_view name, std::string_view content, Software& known) {
  if (is_library(name, "libstdc++")) return keep_better(known, "libstdc++", libstdcxx_version(content));
  if (is_library(name, "libpmix")) return keep_better(known, "pmix", pmix_version(content));
  for (const auto& [library, what] : {std::pair("libcudart", "cuda"), std::pair("libcudnn", "cudnn"),
                                      std::pair("libpmi", "pmi"), std::pair("libpmi2", "pmi2")}) {
    if (const auto version = version_in_name(name, library)) keep_better(known, what, numbers_of(*version));
    if (const auto major = major_in_digested_name(name, library)) keep_better(known, what, *major);
  }
}

}  // namespace

bool tells_of_software(const Member& member) {
  if (member.size > largest) return false;
  const auto name = name_of(member.path);
  for (const auto* library : {"libstdc++", "libpmix", "libcudart", "libcudnn", "libpmi", "libpmi2"})
    if (is_library(name, library)) return true;
  return !python_in_path(member.path).empty() || is_cuda_version_file(member.path) ||
         package_in_path(member.path).has_value();
}

void add_software(std::string_view path, std::string_view content, Software& known) {
  if (const auto version = python_in_path(path); !version.empty())
    return keep_better(known, "python", whole_python_version(content, version));
  if (const auto package = package_in_path(path)) return keep_better(known, package->first, package->second);
  if (is_cuda_version_file(path)) return keep_better(known, "cuda", cuda_in_version_file(content));
  add_library(name_of(path), content, known);
}

}  // namespace longship::image
