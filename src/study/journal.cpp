// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"

namespace longship::study {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t largest_block = 16;

fs::path log_of(const fs::path& directory, std::uint32_t writer) {
  return directory / fmt::format("writer-{}", writer) / "log";
}

// False if somebody else was first.
bool make_link(const fs::path& path, const std::string& content) {
  if (::symlink(content.c_str(), path.c_str()) == 0) return true;
  if (errno != EEXIST) throw Error::from_errno(errno, "cannot make {}", path.string());
  return false;
}

std::optional<std::uint64_t> number_in_link(const fs::path& path) {
  std::array<char, 32> text{};
  const auto length = ::readlink(path.c_str(), text.data(), text.size());
  if (length < 0 && errno == ENOENT) return {};
  if (length < 0) throw Error::from_errno(errno, "cannot read {}", path.string());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + length, number);
  if (error != std::errc{} || end != text.data() + length || number == 0 || number > largest_block)
    throw Error("{} is damaged: \"{}\" is no count of trials", path.string(),
                std::string_view(text.data(), static_cast<std::size_t>(length)));
  return number;
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error("cannot make the directory {}: {}", path.string(), error.message());
}

// Of the trial it is about; nothing if it is about the study.
std::optional<TrialNumber> number_in(const Event& event) {
  return std::visit(
      [](const auto& one) -> std::optional<TrialNumber> {
        if constexpr (requires { one.number; })
          return one.number;
        else
          return {};
      },
      event);
}

// Gives every parameter in the event our number for it.
void translate(Event& event, const std::map<ParameterId, ParameterId>& ids) {
  const auto ours = [&](Assigned& assigned) {
    const auto found = ids.find(assigned.parameter);
    if (found == ids.end()) throw Error("a value for a parameter that was never defined");
    assigned.parameter = found->second;
  };
  if (auto* suggested = std::get_if<Suggested>(&event)) ours(suggested->assigned);
  if (auto* begun = std::get_if<TrialBegun>(&event))
    for (auto& assigned : begun->planned) ours(assigned);
}

}  // namespace

Journal::Journal(fs::path directory) : directory_(std::move(directory)) {
  if (fs::exists(directory_) && !fs::is_directory(directory_))
    throw Error(Failure::usage, "{} is no directory: a study's journal is one", directory_.string());
}

void Journal::find_others() {
  for (std::uint32_t number = others_.empty() ? 0 : others_.rbegin()->first + 1;; ++number) {
    if (own_ == number) continue;
    const auto log = log_of(directory_, number);
    std::error_code ignored;
    if (!fs::exists(log.parent_path(), ignored)) return;
    others_.emplace(number, Other{RecordLogReader(log), {}});
  }
}

void Journal::read_new(const Translate& translated, const std::function<void(const Event&)>& take) {
  leave_parent();
  find_others();
  for (auto& [number, other] : others_) {
    within(fmt::format("the journal {}", log_of(directory_, number).string()), [&, &from = other] {
      while (const auto record = from.reader.next()) {
        auto event = within(fmt::format("record {}", record->number), [&] {
          auto read = decoded(record->payload);
          translate(read, from.ids);
          return read;
        });
        if (const auto* defined = std::get_if<ParameterDefined>(&event))
          from.ids[defined->id] = translated(*defined);
        else
          take(event);
      }
    });
  }
}

std::vector<Journal::Damage> Journal::damage() const {
  std::vector<Damage> found;
  for (const auto& [number, other] : others_)
    if (const auto records = other.reader.records_beyond(); records > 0) {
      const auto [segment, offset] = other.reader.position();
      found.push_back({record_log_segment(log_of(directory_, number), segment), offset, records});
    }
  return found;
}

// A forked child has its parent's open log: from now on that is another's.
void Journal::leave_parent() {
  if (owner_ == 0 || owner_ == ::getpid()) return;
  const auto parent = own_.value();
  writer_.reset();
  own_.reset();
  owner_ = 0;
  defined_.clear();
  block_next_ = block_end_ = 0;
  block_size_ = 1;
  others_.emplace(parent, Other{RecordLogReader(log_of(directory_, parent)), {}});
}

void Journal::begin_writing() {
  leave_parent();
  if (writer_) return;
  for (const auto* part : {"numbers", "taken"}) make_directory(directory_ / part);
  std::uint32_t number = 0;
  while (::mkdir(log_of(directory_, number).parent_path().c_str(), 0777) != 0) {
    if (errno != EEXIST)
      throw Error::from_errno(errno, "cannot write to the study in {}", directory_.string());
    ++number;
  }
  failpoint("study.writer_made");
  writer_ = std::make_unique<RecordLogWriter>(log_of(directory_, number));
  own_ = number;
  owner_ = ::getpid();
  writer_->append(encoded(opened_.value()));
  sync_directory(directory_);
}

void Journal::begin() {
  begin_writing();
  writer_->sync();
}

void Journal::write(const Event& event, bool durable) {
  begin_writing();
  writer_->append(encoded(event));
  if (const auto* defined = std::get_if<ParameterDefined>(&event)) defined_.insert(defined->id);
  failpoint("study.written");
  if (durable) writer_->sync();
}

TrialNumber Journal::claim_number() {
  begin_writing();
  while (block_next_ == block_end_) {
    const auto link = directory_ / "numbers" / std::to_string(search_from_);
    if (const auto taken = number_in_link(link)) {
      search_from_ += *taken;
    } else if (make_link(link, std::to_string(block_size_))) {
      block_next_ = search_from_;
      block_end_ = search_from_ += block_size_;
      block_size_ = std::min(block_size_ * 2, largest_block);
    }
  }
  failpoint("study.number_claimed");
  return block_next_++;
}

void Journal::claim_known() {
  TrialNumber end = 0;
  read_new([](const ParameterDefined& defined) { return defined.id; },
           [&](const Event& event) {
             if (const auto number = number_in(event)) end = std::max(end, *number + 1);
           });
  make_directory(directory_ / "numbers");
  for (TrialNumber from = 0; from < end;) {
    const auto link = directory_ / "numbers" / std::to_string(from);
    const auto taken = number_in_link(link);
    const auto count = taken.value_or(std::min<TrialNumber>(end - from, largest_block));
    if (taken || make_link(link, std::to_string(count))) from += count;
  }
}

bool Journal::claim_waiting(TrialNumber number) {
  begin_writing();
  return make_link(directory_ / "taken" / std::to_string(number), std::to_string(own_.value()));
}

}  // namespace longship::study
