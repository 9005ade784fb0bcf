// SPDX-License-Identifier: Apache-2.0
// A version such as glibc's 2.31 or a kernel's 5.10.0-28-amd64, to be compared.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longship::fit {

class Version {
 public:
  Version() = default;
  Version(int major, int minor, int patch = 0) : parts_{major, minor, patch} { drop_zeros(); }

  // The numbers at the start; what follows them ("-28-amd64", "rc1") is a distribution's own. Nothing if
  // there are none.
  [[nodiscard]] static std::optional<Version> parse(std::string_view text);

  [[nodiscard]] std::string text() const;  // "2.31"
  [[nodiscard]] int first() const { return parts_.empty() ? 0 : parts_[0]; }
  // 2.9 < 2.31, 5.10 == 5.10.0. clang-tidy takes the 0 that a defaulted comparison is compared with for a
  // pointer.
  [[nodiscard]] auto operator<=>(const Version&) const = default;  // NOLINT(modernize-use-nullptr)

 private:
  void drop_zeros();
  std::vector<int> parts_;  // without zeros at the end
};

}  // namespace longship::fit
