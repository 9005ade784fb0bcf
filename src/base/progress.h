// SPDX-License-Identifier: Apache-2.0
// How far a long piece of work is, told to whoever wants to know: cli draws a bar or writes a line now and
// then.
#pragma once
#include <cstdint>
#include <string_view>

namespace longship {

class Progress {
 public:
  virtual ~Progress() = default;
  // "converting": what is being done now; total 0 if it is not known. Unit: "B" for bytes, else a word such
  // as "files".
  virtual void begin(std::string_view what, std::uint64_t total, std::string_view unit) = 0;
  virtual void update(std::uint64_t done) = 0;  // called often, from any one thread; must be cheap
  virtual void end() = 0;
};

class NoProgress final : public Progress {
 public:
  void begin(std::string_view, std::uint64_t, std::string_view) override {}
  void update(std::uint64_t) override {}
  void end() override {}
};

}  // namespace longship
