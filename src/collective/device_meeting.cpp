// SPDX-License-Identifier: Apache-2.0
#include "device_meeting.h"

#include "base/error.h"
#include "device_group.h"
#include "ranks.h"

namespace longship::collective {
namespace {

Request bytes_of_set(Kind kind, const char* name, int set, std::byte* data, std::size_t count) {
  Request asked;
  asked.what.kind = kind;
  asked.what.type = Type::u8;
  asked.what.count = count;
  asked.what.name = name;
  asked.what.set = set;
  asked.data = data;
  return asked;
}

Result done(Result result) {
  if (!result.error.empty()) throw Error("{}", result.error);
  return result;
}

// Which of them could not do their part, so that nobody waits for them.
void check_all_can(Driver& driver, int set, const std::vector<int>& ranks, const std::string& own_problem) {
  auto fine = static_cast<std::byte>(own_problem.empty() ? 1 : 0);
  const Result said = done(driver.run(bytes_of_set(Kind::allgather, "longship.nccl.ready", set, &fine, 1)));
  if (!own_problem.empty()) throw Error("{}", own_problem);
  std::vector<int> without;
  for (std::size_t place = 0; place < ranks.size(); ++place)
    if (said.gathered[place] == std::byte{0}) without.push_back(ranks[place]);
  if (!without.empty()) throw Error("NCCL cannot be used by {}: see the error there", the_ranks(without));
}

const NcclLibrary* loaded(const std::string& file, std::string& problem) {
  try {
    return &NcclLibrary::of_process(file);
  } catch (const Error& error) {
    problem = error.what();
    return nullptr;
  }
}

}  // namespace

void meet_on_devices(Driver& driver, int set, const std::vector<int>& ranks, int rank,
                     const std::string& file) {
  std::string problem;
  const NcclLibrary* const library = loaded(file, problem);
  check_all_can(driver, set, ranks, problem);
  NcclId id{};
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
  if (place == 0) id = DeviceGroup::new_id(*library);
  Request telling =
      bytes_of_set(Kind::broadcast, "longship.nccl.id", set, reinterpret_cast<std::byte*>(&id), sizeof id);
  telling.what.root = ranks.front();
  static_cast<void>(done(driver.run(telling)));
  driver.use_device(set, std::make_shared<DeviceGroup>(*library, id, static_cast<int>(place),
                                                       static_cast<int>(ranks.size())));
}

}  // namespace longship::collective
