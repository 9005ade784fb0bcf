// SPDX-License-Identifier: Apache-2.0
// One attempt at a job and its places. What stays is in the run's directory, what does not in the spool
// within it:
//
//   runs/digits-3/            named after the job, numbered by whoever makes the directory first; in a site's
//   spool
//                             attempts/digits-7.2, and whoever makes it carries the attempt out
//     result.json             how it went
//     output/rank-00000.out   what the ranks said
//     record/rank-00000.rec   what they did when
//     model.pt, …             outputs kept
//     .spool/                 0700, gone in the end: also after kill -9
//       lock                  locked as long as the attempt lives
//       job.json, code.tar.zst
//       work/                 the code unpacked: where the ranks run
//
// Both are on one file system, the shared one where there are several nodes, so keeping an output is a
// rename.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.h"
#include "guard.h"

namespace longship::pilot {

class Attempt {
 public:
  // Makes the next free runs/NAME-N, after removing the spools of attempts that died.
  Attempt(const std::filesystem::path& runs, const std::string& name);
  // Makes this directory, 0700. An Error if it is there: somebody began the attempt before.
  explicit Attempt(const std::filesystem::path& directory);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt();  // the spool goes; the run's directory too, if nothing was kept

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] std::string name() const { return directory_.filename().string(); }
  [[nodiscard]] std::filesystem::path spool() const { return directory_ / ".spool"; }
  [[nodiscard]] std::filesystem::path job_file() const { return spool() / "job.json"; }
  [[nodiscard]] std::filesystem::path bundle() const { return spool() / "code.tar.zst"; }
  [[nodiscard]] std::filesystem::path work() const { return spool() / "work"; }
  [[nodiscard]] std::filesystem::path output() const { return directory_ / "output"; }
  [[nodiscard]] std::filesystem::path record() const { return directory_ / "record"; }
  [[nodiscard]] std::filesystem::path result() const { return directory_ / "result.json"; }

  void make_places();  // work, output, record: once it is certain that something will run

 private:
  void make_spool();

  std::filesystem::path directory_;
  Fd lock_;
  std::optional<Guard> guard_;
};

// Spools in `runs` whose process is gone.
void remove_abandoned(const std::filesystem::path& runs);
// That of one attempt, if its process is gone.
void remove_abandoned_spool(const std::filesystem::path& attempt);

}  // namespace longship::pilot
