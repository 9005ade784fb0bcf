// SPDX-License-Identifier: Apache-2.0
#include "fuse_operations.h"

#include <cstdlib>
#include <cstring>

#include "fuse_answers.h"
#include "fuse_crew.h"
#include "fuse_push.h"
#include "fuse_subject.h"
#include "give_back.h"
#include "unpack_ahead.h"

namespace longship::box {
namespace {

// LONGSHIP_FUSE=old: as if the kernel could do none of it, for its test.
bool as_if_old() {
  const char* word = std::getenv("LONGSHIP_FUSE");
  return word != nullptr && std::strcmp(word, "old") == 0;
}

void on_init(void* data, fuse_conn_info* connection) {
  auto& server = *static_cast<Server*>(data);
  server.refuses_open = !as_if_old() && (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  server.refuses_opendir = !as_if_old() && (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  const unsigned splices = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE;
  connection->want &= ~(splices | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS);
  connection->want |= connection->capable &
                      (FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_CACHE_SYMLINKS |
                       FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ | FUSE_CAP_EXPLICIT_INVAL_DATA);
}

// Operations that are not here, such as flush and getxattr, libfuse answers with ENOSYS by itself.
constexpr fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table = {};
  table.init = on_init;
  table.lookup = on_lookup;
  table.getattr = on_getattr;
  table.readlink = on_readlink;
  table.open = on_open;
  table.opendir = on_opendir;
  table.read = on_read;
  table.readdir = on_readdir;
  table.statfs = on_statfs;
  return table;
}

// A job reads its programs in the beginning: what was needed for that need not stay beside it.
void rest(const Server& server, HeadStart& head_start) {
  head_start.stop();
  end_this_threads_reading();
  server.blocks->clear();
  give_back_memory();
}

}  // namespace

void answer_requests(Fd mount, int image, const Owner& owner, HeadStart& head_start) {
  Server server = {.image = image, .owner = owner, .blocks = head_start.blocks()};
  char name[] = "longship";
  char* words[] = {name, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words);
  static const fuse_lowlevel_ops table = operations();
  fuse_session* session = fuse_session_new(&arguments, &table, sizeof table, &server);
  if (session == nullptr) return;
  // libfuse takes a mount that somebody else has made under this name, and closes the descriptor in the end.
  const std::string place = "/dev/fd/" + std::to_string(mount.release());
  {
    FusePush push(session);
    UnpackAhead ahead(image, server.blocks);
    server.push = &push;
    server.ahead = &ahead;
    (void)this_threads_reading(server);  // now, and not while somebody waits for the first answer
    if (fuse_session_mount(session, place.c_str()) == 0)
      answer_by_crew(session, {.rest = [&] { rest(server, head_start); },
                               .cores_are_needed = [&] { return head_start.at_work(); }});
  }
  fuse_session_destroy(session);
}

}  // namespace longship::box
