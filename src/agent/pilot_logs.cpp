// SPDX-License-Identifier: Apache-2.0
#include "pilot_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace longship::agent {
namespace {

namespace fs = std::filesystem;

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error::from_errno(errno, "cannot make {}", path.native());
  sync_directory(path.parent_path());
}

// What cannot be understood is left out, as a newer pilot may say more.
void understand(const std::string& pilot, const LogRecord& record, std::vector<message::FromPilot>& said) {
  try {
    for (auto& message : message::decode_from_pilot(record.payload)) said.push_back(std::move(message));
  } catch (const Error& error) {
    warn("pilot {}: record {} is left out: {}", pilot, record.number, error.what());
  }
}

}  // namespace

void PilotLogs::make(const message::PilotOrder& order) {
  const auto directory = spool_.pilot(order.pilot);
  make_directory(directory);
  message::write_order(directory, order);
}

void PilotLogs::tell(const std::string& pilot, const std::vector<message::ToPilot>& messages) {
  constexpr std::size_t in_one_record = 500;
  const auto directory = spool_.pilot(pilot);
  auto& writer = logs_[pilot].to;
  if (!writer) {
    make_directory(directory);
    writer = std::make_unique<RecordLogWriter>(message::to_pilot(directory));
    sync_directory(directory);
  }
  for (std::size_t i = 0; i < messages.size(); i += in_one_record) {
    const auto first = messages.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = std::min(in_one_record, messages.size() - i);
    writer->append(message::encode(std::vector(first, first + static_cast<std::ptrdiff_t>(count))));
  }
  writer->sync();
}

void PilotLogs::replay(const std::string& pilot,
                       const std::function<void(const message::ToPilot&)>& take) const {
  RecordLogReader reader(message::to_pilot(spool_.pilot(pilot)));
  while (const auto record = reader.next())
    for (const auto& told : message::decode_to_pilot(record->payload)) take(told);
}

std::vector<message::FromPilot> PilotLogs::hear(const std::string& pilot) {
  std::vector<message::FromPilot> said;
  auto& logs = logs_[pilot];
  if (logs.damaged) return said;
  try {
    if (!logs.from) logs.from = std::make_unique<RecordLogReader>(message::from_pilot(spool_.pilot(pilot)));
    while (const auto record = logs.from->next()) understand(pilot, *record, said);
  } catch (const Error& error) {
    logs.damaged = true;
    warn("pilot {}: its log cannot be read any further: {}", pilot, error.what());
  }
  return said;
}

std::string PilotLogs::last_words(const std::string& pilot) const {
  constexpr off_t most = 2000;
  try {
    const Fd fd = open_file(spool_.pilot(pilot) / "batch.out", O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
    std::string text(static_cast<std::size_t>(std::min(info.st_size, most)), '\0');
    const auto got = ::pread(fd.get(), text.data(), text.size(), std::max<off_t>(0, info.st_size - most));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto lines = trim(text);
    const auto last = lines.rfind('\n');
    return printable(trim(last == lines.npos ? lines : lines.substr(last + 1)).substr(0, 300));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace longship::agent
