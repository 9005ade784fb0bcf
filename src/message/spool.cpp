// SPDX-License-Identifier: Apache-2.0
#include "spool.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/fields.h"

namespace longship::message {
namespace {

namespace fs = std::filesystem;

// Ours alone, or an Error. A link is only followed to the spool itself: whoever set it up chose where it is.
void make_private(const fs::path& directory, bool follow) {
  if (::mkdir(directory.c_str(), 0700) == 0) return;
  const int made = errno;
  struct stat status {};
  if ((follow ? ::stat : ::lstat)(directory.c_str(), &status) < 0)
    throw Error::from_errno(made, "cannot make the spool's directory {}", directory.native());
  if (!S_ISDIR(status.st_mode))
    throw Error("{} is in the way: the spool needs a directory there", directory.native());
  if (status.st_uid != ::geteuid())
    throw Error(
        "{} belongs to the account with number {}: a spool belongs to the one account whose jobs it holds",
        directory.native(), status.st_uid);
  if ((status.st_mode & 077) != 0 && ::chmod(directory.c_str(), 0700) < 0)
    throw Error::from_errno(errno, "cannot make {} private", directory.native());
}

bool is_pilot_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

fs::path order_file(const fs::path& pilot) {
  return pilot / "pilot.json";
}

template <class Duration>
Duration duration(const formats::Fields& fields, std::string_view key, Duration fallback) {
  constexpr std::int64_t most = 100LL * 366 * 86400 * 1000;
  return Duration(fields.integer(key, {0, most}, fallback.count()));
}

}  // namespace

void Spool::make() const {
  if (!root_.is_absolute()) throw Error("a spool is an absolute path, not {}", root_.native());
  if (root_.has_parent_path()) within("the spool", [&] { fs::create_directories(root_.parent_path()); });
  make_private(root_, true);
  for (const auto* inner : {"code", "checkpoints", "pilots", "attempts"}) make_private(root_ / inner, false);
}

fs::path Spool::code(std::string_view digest) const {
  return root_ / "code" / (std::string(formats::hex_of(digest)) + ".tar.zst");
}

fs::path Spool::checkpoints(std::string_view job) const {
  if (!is_job_id(job))
    throw Error("\"{}\" is no job's id: one looks like digits-7", printable(job.substr(0, 100)));
  return root_ / "checkpoints" / job;
}

fs::path Spool::pilot(std::string_view pilot) const {
  if (!is_pilot_name(pilot))
    throw Error("\"{}\" is no pilot: its name has small letters and digits", printable(pilot.substr(0, 100)));
  return pilots() / pilot;
}

fs::path Spool::attempt(const AttemptId& attempt) const {
  const auto text = attempt.text();
  return AttemptId::parse(text) == attempt ? attempts() / text : fs::path();
}

void write_order(const fs::path& pilot, const PilotOrder& order) {
  formats::Table table;
  table.set("version", spool_version);
  table.set("pilot", order.pilot);
  table.set("site", order.site);
  table.set("nodes", order.nodes);
  table.set("walltime", order.walltime.count());
  table.set("look_every_milliseconds", order.look_every.count());
  table.set("idle_limit", order.idle_limit.count());
  table.set("checkpoint_before", order.checkpoint_before.count());
  table.set("image_store", order.image_store.native());
  table.set("engine", order.engine);
  write_file(order_file(pilot), formats::dump_json(table, formats::Layout::pretty) + "\n", 0600);
}

PilotOrder read_order(const fs::path& pilot) {
  const auto file = order_file(pilot);
  const auto document = formats::parse_json(read_file(file, std::size_t{1} << 20), file.native());
  const formats::Fields fields(document, "");
  if (const auto version = fields.integer("version", {1, 1 << 30}); version != spool_version)
    throw fields.wrong("version",
                       "this pilot reads version {}, found {}: agent and pilot must be of the same release",
                       spool_version, version);
  PilotOrder order;
  order.pilot = fields.text("pilot");
  if (!is_pilot_name(order.pilot)) throw fields.wrong("pilot", "a pilot's name has small letters and digits");
  order.site = fields.text("site", "");
  order.nodes = static_cast<int>(fields.integer("nodes", {1, 1'000'000}, order.nodes));
  order.walltime = duration(fields, "walltime", order.walltime);
  order.look_every = duration(fields, "look_every_milliseconds", order.look_every);
  order.idle_limit = duration(fields, "idle_limit", order.idle_limit);
  order.checkpoint_before = duration(fields, "checkpoint_before", order.checkpoint_before);
  order.image_store = fields.text("image_store", "");
  order.engine = fields.text("engine", order.engine);
  return order;
}

}  // namespace longship::message
