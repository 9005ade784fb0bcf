// SPDX-License-Identifier: Apache-2.0
// The launcher's side of the control page (base/control.h): one for all ranks of a node, in memory, without a
// name as soon as it needs none, so that nothing of it is left whoever is killed.
#pragma once
#include <filesystem>
#include <string>

#include "base/control.h"
#include "base/fd.h"

namespace longship::launch {

// Where a box shows the page.
inline constexpr const char* control_in_the_box = "/run/longship/control";

class Control {
 public:
  Control();  // where no file can be made, ranks cannot be asked, and otherwise run as always
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

  [[nodiscard]] bool there() const { return page_ != nullptr; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }  // to be bound into a box
  void forget_name();                                    // once the box has it, or if there is no box
  [[nodiscard]] std::string path_of_descriptor() const;  // for ranks without a box: it needs no name

  void ask_for_checkpoint();

 private:
  std::filesystem::path file_;  // empty: it has no name any more
  Fd fd_;
  ControlPage* page_ = nullptr;
};

}  // namespace longship::launch
