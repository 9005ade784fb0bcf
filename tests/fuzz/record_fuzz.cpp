// SPDX-License-Identifier: Apache-2.0
// A rank's log of any bytes is read as far as it makes sense, or refused with an Error: the file as a whole,
// and each block as if its checksum were right.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "fuzz/input.h"
#include "record/reader.h"

namespace {

using namespace longship;

void try_block(std::string_view block) {
  record::Log log;
  try {
    record::decode(block, log);
  } catch (const Error&) {
  }
  for (const auto& span : log.spans)
    if (span.name >= log.names.size() || span.end < span.begin) std::abort();
}

void try_file(std::string_view bytes) {
  static const int file = ::memfd_create("log", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) std::abort();
  try {
    static_cast<void>(record::read_log("/proc/self/fd/" + std::to_string(file)));
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  try_block(bytes);
  try_file(bytes);
  return 0;
}
