// SPDX-License-Identifier: Apache-2.0
// Trials as jobs at a hub, each under the study's name. A job is handed in with a key made of study, trial,
// attempt and content: however often that is done, and whoever was killed between, it is one job.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "hub_client.h"
#include "job/job.h"
#include "sweep/runner.h"

namespace longship::cli {

class TrialsAtHub final : public sweep::Runner {
 public:
  // Brings image and code. `identity`: of the study, the same whenever it goes on.
  // `before` is called before each job is handed in.
  TrialsAtHub(HubClient& hub, const sweep::StudyFile& file, std::string identity,
              std::function<void()> before);

  std::string start(const sweep::Start& start) override;
  void stop(study::TrialNumber trial) override;
  // Does not wait: hub_events.h does.
  [[nodiscard]] std::vector<sweep::Heard> listen(std::chrono::milliseconds) override;

  [[nodiscard]] bool concerns(std::string_view job) const { return trials_.contains(std::string(job)); }
  [[nodiscard]] int nodes() const { return job_.needs.nodes; }

 private:
  struct Seen {
    study::TrialNumber trial = 0;
    std::int64_t step = -1;
  };
  void look_for(const std::string& id);
  void look_at(const formats::Value& job);
  void look_at_end(const std::string& id, study::TrialNumber trial);
  void add_curve(const std::string& id, study::TrialNumber trial);
  [[nodiscard]] sweep::Ended judge(const formats::Value& job, study::TrialNumber trial);
  [[nodiscard]] std::optional<std::string> file_of(const std::string& id, const std::string& name);

  HubClient& hub_;
  const sweep::StudyFile& file_;
  std::string identity_;
  std::function<void()> before_;
  job::Job job_;
  formats::Value code_;
  std::map<std::string, Seen> trials_;              // by job
  std::map<study::TrialNumber, std::string> jobs_;  // by trial
  std::vector<sweep::Heard> heard_;                 // kept if the hub goes away in the middle of telling
};

}  // namespace longship::cli
