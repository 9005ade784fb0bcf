// SPDX-License-Identifier: Apache-2.0
// What of the host is let into a box: its /proc, /sys and /dev, /tmp, the home and working directory of the
// caller, what was asked for; and copies of a few small files without which names and clocks do not work.
#pragma once
#include <string>
#include <vector>

#include "base/fd.h"
#include "box.h"
#include "identity.h"
#include "layers.h"

namespace longship::box {

class Fittings {
 public:
  // Opens everything now: later the host's paths, and links among them, mean something else.
  Fittings(const Spec& spec, const Caller& caller);
  // What the image needs for them; settles whether the working directory is let in.
  [[nodiscard]] Additions additions_to(const std::string& image);
  void mount_in(const std::string& root, const std::string& proc) const;

 private:
  struct Fitting {
    Fd from;           // none: an empty tmpfs
    std::string name;  // of the source, for errors
    std::string to;
    bool read_only = false;
    bool directory = true;
  };

  void let_in(const std::string& from, const std::string& to, bool optional, bool read_only = false);
  void copy(const char* path);
  void make_place_in_tmpfs(int tree, const Fitting& wanted) const;
  [[nodiscard]] bool covers(const std::string& path) const;
  void let_in_working_directory(int image);
  void introduce_caller(int image, Additions& additions) const;

  const Caller& caller_;
  const bool fake_root_;
  std::vector<Fitting> fittings_;
  std::vector<Additions::Content> copies_;
  Fd here_;  // the working directory, while it is not settled
};

}  // namespace longship::box
