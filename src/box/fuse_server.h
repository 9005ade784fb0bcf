// SPDX-License-Identifier: Apache-2.0
// SquashFS through FUSE: a small process of our own answers for the mount that the box looks at.
//
// Who outlives whom. The server is forked before the namespaces are made, so it keeps no namespace alive; it
// holds the image, its end of a socket and, once the box has mounted, the other end of that mount. The kernel
// ends the mount with the last process of the box, whatever killed it, and reading from an ended mount is how
// the server learns to exit. If the box dies before it has mounted, the socket tells. The server is nobody's
// child and in a session of its own: the command in the box does not find a child it never had, and Ctrl-C at
// its terminal does not take its files away.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace longship::box {

class FuseServer {
 public:
  FuseServer() = default;
  // Forks; needs a process with one thread. Everything in the image will seem to belong to owner and group,
  // as the box's namespace numbers them: whoever runs the image may read what is in it. `command` is what the
  // box is going to run, if that is known.
  FuseServer(int image, const std::string& name, uid_t owner, gid_t group, const std::string& command);
  // From inside the new namespaces: mounts the image there and hands the mount over to the server.
  void mount_at(const std::string& place, const std::string& device);

 private:
  Fd socket_;
  uid_t owner_ = 0;
  gid_t group_ = 0;
};

}  // namespace longship::box
