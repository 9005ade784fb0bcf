// SPDX-License-Identifier: Apache-2.0
// Who makes the box that others join: join.h tells how they meet.
#pragma once
#include "base/fd.h"
#include "box.h"
#include "meeting.h"

namespace longship::box {

// Started before the new box is entered, its keeper stays outside. In there others could look
// into it, and through directories of the host that it has open out of the box.
class Doorkeeper {
 public:
  explicit Doorkeeper(Meeting& meeting);
  void open(Way way);  // from inside the new box: others may come

 private:
  Meeting& meeting_;
  Fd socket_;
};

}  // namespace longship::box
