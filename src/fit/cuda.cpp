// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace longship::fit {
namespace {

struct Release {
  Version driver, cuda;
};

// "CUDA Toolkit and Corresponding Driver Versions" of NVIDIA's release notes: the first driver of each,
// newest first.
const std::array releases = {
    Release{{580, 65, 6}, {13, 0}},  Release{{575, 51, 3}, {12, 9}}, Release{{570, 26}, {12, 8}},
    Release{{560, 28, 3}, {12, 6}},  Release{{555, 42, 2}, {12, 5}}, Release{{550, 54, 14}, {12, 4}},
    Release{{545, 23, 6}, {12, 3}},  Release{{535, 54, 3}, {12, 2}}, Release{{530, 30, 2}, {12, 1}},
    Release{{525, 60, 13}, {12, 0}}, Release{{520, 61, 5}, {11, 8}}, Release{{515, 43, 4}, {11, 7}},
    Release{{510, 39, 1}, {11, 6}},  Release{{495, 29, 5}, {11, 5}}, Release{{470, 42, 1}, {11, 4}},
    Release{{465, 19, 1}, {11, 3}},  Release{{460, 27, 3}, {11, 2}}, Release{{455, 23}, {11, 1}},
    Release{{450, 36, 6}, {11, 0}},  Release{{440, 33}, {10, 2}},    Release{{418, 39}, {10, 1}},
    Release{{410, 48}, {10, 0}},     Release{{396, 26}, {9, 2}},     Release{{390, 46}, {9, 1}},
    Release{{384, 81}, {9, 0}},      Release{{375, 26}, {8, 0}},
};

// The first driver for a CUDA; of one that is not in the list (a patch, or newer than it) the nearest before.
std::optional<Version> driver_for(const Version& cuda) {
  for (const auto& release : releases)
    if (release.cuda <= cuda) return release.driver;
  return {};
}

}  // namespace

std::optional<Version> cuda_of_driver(const Version& driver) {
  for (const auto& release : releases)
    if (release.driver <= driver) return release.cuda;
  return {};
}

// Since CUDA 11 a driver runs all of its own major version: newer minors too, but not what they compile for
// the GPU only when it runs (PTX).
Finding judge_cuda(const Version& cuda, const Version& driver) {
  const auto most = cuda_of_driver(driver);
  const auto least = driver_for(cuda);
  if (most && (*most >= cuda || (least && driver >= *least)))
    return {"CUDA", Fit::good, fmt::format("{}, and driver {} is new enough", cuda.text(), driver.text()),
            ""};
  const auto remedy = fmt::format("ask for driver {} or newer, or build a variant of the image with CUDA {}",
                                  least ? least->text() : "?", most ? most->text() : "8.0");
  if (most && most->first() == cuda.first() && cuda.first() >= 11)
    return {
        "CUDA", Fit::limited,
        fmt::format("the image has CUDA {}, driver {} is of CUDA {}: programs run, but not kernels that are "
                    "compiled only then (PTX)",
                    cuda.text(), driver.text(), most->text()),
        remedy};
  return {"CUDA", Fit::none,
          fmt::format("the image has CUDA {}, and driver {} runs only {}", cuda.text(), driver.text(),
                      most ? "CUDA up to " + most->text() : "older ones"),
          remedy};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 …", since 560 also "Open Kernel
// Module".
std::optional<Version> driver_in(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  if (!line.starts_with("NVRM version:")) return {};
  for (const auto word : split(line, ' ')) {
    const bool is_version = word.find('.') != std::string_view::npos &&
                            word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_version) return Version::parse(word);
  }
  return {};
}

}  // namespace longship::fit
