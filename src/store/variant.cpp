// SPDX-License-Identifier: Apache-2.0
// Tags tell the variants of an image apart. Words of a tag, with "-" between them, that say what is in an
// image have to be true, because people and sites choose by them; other words, such as versions, are free.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "image.h"

namespace longship::store {
namespace {

constexpr std::array<std::string_view, 2> mpi_families = {"mpich", "openmpi"};
constexpr std::array<std::string_view, 5> architectures = {"x86_64", "aarch64", "ppc64le", "riscv64",
                                                           "s390x"};

template <std::size_t Size>
bool has(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "12" of "cuda12", "11.8" of "cuda11.8"; empty for other words.
std::string_view cuda_version(std::string_view word) {
  constexpr std::string_view name = "cuda";
  if (!word.starts_with(name) || word.size() == name.size()) return {};
  const auto version = word.substr(name.size());
  return version.find_first_not_of("0123456789.") == std::string_view::npos ? version : std::string_view();
}

// Whether a version is the named one, or one of it: "11.8.0" and "11.8" are of "11.8", and both of "11".
bool is_of(std::string_view version, std::string_view named) {
  return version.starts_with(named) && (version.size() == named.size() || version[named.size()] == '.');
}

// What is said instead of what the word claims; empty if it is true.
std::string contradiction(std::string_view word, const Facts& facts) {
  if (has(mpi_families, word) && facts.mpi.substr(0, facts.mpi.find(' ')) != word)
    return facts.mpi.empty() ? "no MPI was found in it" : "its MPI is " + facts.mpi;
  if (has(architectures, word) && !facts.architecture.empty() && facts.architecture != word)
    return "it is for " + facts.architecture;
  const auto cuda = cuda_version(word);
  if (cuda.empty() || !facts.software) return {};
  const auto found = facts.software->find("cuda");
  if (found == facts.software->end()) return "no CUDA was found in it";
  return is_of(found->second, cuda) ? "" : "its CUDA is " + found->second;
}

}  // namespace

void validate_variant(const Image& image) {
  const auto colon = image.name.find(':');
  if (colon == std::string::npos) return;
  for (const auto word : split(std::string_view(image.name).substr(colon + 1), '-'))
    if (const auto why = contradiction(word, image.facts); !why.empty())
      throw Error(Failure::usage, "the image cannot be called {}: its tag says {}, but {}", image.name, word,
                  why);
}

}  // namespace longship::store
