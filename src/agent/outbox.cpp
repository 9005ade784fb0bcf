// SPDX-License-Identifier: Apache-2.0
#include "outbox.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace longship::agent {
namespace {

namespace fs = std::filesystem;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == name.npos;
}

void remove_log(const fs::path& path) {
  for (std::uint32_t index = 0; fs::remove(record_log_segment(path, index)); ++index) {
  }
}

// The name is written last: a log that has no name yet has nothing in it that anyone has seen.
std::string open_name(const message::Spool& spool, const std::function<std::string()>& new_name,
                      bool& is_new) {
  const auto file = spool.outbox_name();
  if (fs::exists(file) && fs::exists(spool.outbox())) {
    const auto text = read_file(file, 4096);
    const std::string name(trim(text));
    if (!is_name(name))
      throw Error("{} has no name in it: remove it, and a new outbox begins", file.native());
    return name;
  }
  is_new = true;
  fs::remove(file);
  remove_log(spool.outbox());
  static_cast<void>(RecordLogWriter(spool.outbox()));
  sync_directory(spool.root());
  const auto name = new_name();
  write_file(file, name + "\n", 0600);
  return name;
}

}  // namespace

Outbox::Outbox(const message::Spool& spool, const std::function<std::string()>& new_name)
    : path_(spool.outbox()), name_(open_name(spool, new_name, new_)), writer_(path_) {}

void Outbox::replay(const std::function<void(std::uint64_t, const message::Fact&)>& take) const {
  RecordLogReader reader(path_);
  while (const auto record = reader.next()) take(record->number, message::decode_fact(record->payload));
}

void Outbox::append(const std::vector<message::Fact>& facts) {
  if (facts.empty()) return;
  for (const auto& fact : facts) writer_.append(message::encode(fact));
  writer_.sync();
}

void Outbox::send_from(std::uint64_t number) {
  if (number > size())
    throw Error(
        "the hub has seen {} facts of outbox {}, which has {}: the spool was put back to an earlier "
        "state; remove {} when no job is running here, and a new outbox begins",
        number, name_, size(), path_.native() + ".name");
  if (!reader_ || sent_ > number) {
    reader_.emplace(path_);
    sent_ = 0;
  }
  while (sent_ < number && reader_->next()) ++sent_;
}

message::WrittenFacts Outbox::next(std::size_t most, std::size_t bytes) {
  message::WrittenFacts facts;
  facts.first = sent_;
  if (!reader_) return facts;
  std::size_t size_so_far = 0;
  while (sent_ < size() && facts.facts.size() < most && size_so_far < bytes) {
    const auto record = reader_->next();
    if (!record) break;
    size_so_far += record->payload.size();
    facts.facts.emplace_back(record->payload);
    ++sent_;
  }
  return facts;
}

}  // namespace longship::agent
