// SPDX-License-Identifier: Apache-2.0
#include "gzip_writer.h"

#include <isa-l/igzip_lib.h>

#include <vector>

#include "base/error.h"

namespace longship::image {

struct GzipWriter::State {
  isal_zstream stream{};
  std::vector<std::uint8_t> level = std::vector<std::uint8_t>(ISAL_DEF_LVL2_DEFAULT);
  std::vector<std::uint8_t> output = std::vector<std::uint8_t>(256u << 10);
};

GzipWriter::GzipWriter(Sink sink) : sink_(std::move(sink)), state_(std::make_unique<State>()) {
  isal_deflate_init(&state_->stream);
  state_->stream.level = 2;
  state_->stream.level_buf = state_->level.data();
  state_->stream.level_buf_size = static_cast<std::uint32_t>(state_->level.size());
  state_->stream.gzip_flag = IGZIP_GZIP;
}
GzipWriter::~GzipWriter() = default;

void GzipWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, std::size_t{1} << 30);  // the library counts in 32 bits
    deflate(piece, false);
    bytes.remove_prefix(piece.size());
  }
}

void GzipWriter::finish() {
  deflate({}, true);
}

void GzipWriter::deflate(std::string_view bytes, bool last) {
  auto& stream = state_->stream;
  std::string copy(bytes);  // the library's pointer is not const, though it only reads
  stream.next_in = reinterpret_cast<std::uint8_t*>(copy.data());
  stream.avail_in = static_cast<std::uint32_t>(copy.size());
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = state_->output.data();
    stream.avail_out = static_cast<std::uint32_t>(state_->output.size());
    if (isal_deflate(&stream) != COMP_OK) throw Error("gzip: ISA-L cannot compress this");
    sink_({reinterpret_cast<const char*>(state_->output.data()), state_->output.size() - stream.avail_out});
  } while (stream.avail_out == 0 || (last && stream.internal_state.state != ZSTATE_END));
}

}  // namespace longship::image
