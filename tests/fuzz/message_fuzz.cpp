// SPDX-License-Identifier: Apache-2.0
// Any bytes at all are read as messages and frames, or refused with an Error; what was read can be written,
// and reads back as the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "message/hub_messages.h"

namespace {

using namespace longship;

template <class Decode>
void try_out(std::string_view bytes, Decode&& decode) {
  std::string first;
  try {
    first = message::encode(decode(bytes));
  } catch (const Error&) {
    return;
  }
  if (message::encode(decode(first)) != first) std::abort();
}

void try_stream(std::string_view bytes) {
  message::FrameSplitter splitter;
  std::string frame;
  try {
    for (const char byte : bytes) {
      splitter.add({&byte, 1});
      while (splitter.next(frame)) try_out(frame, message::decode_from_agent);
    }
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      try_out(bytes, message::decode_to_pilot);
      break;
    case 1:
      try_out(bytes, message::decode_from_pilot);
      break;
    case 2:
      try_out(bytes, message::decode_fact);
      break;
    case 3:
      try_out(bytes, message::decode_from_agent);
      break;
    case 4:
      try_out(bytes, message::decode_from_hub);
      break;
    default:
      try_stream(bytes);
  }
  return 0;
}
