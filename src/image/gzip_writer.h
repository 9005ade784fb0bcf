// SPDX-License-Identifier: Apache-2.0
// gzip by ISA-L: several times as fast as zlib at the size of its level 1 to 3.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

namespace longship::image {

class GzipWriter {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit GzipWriter(Sink sink);
  ~GzipWriter();
  void write(std::string_view bytes);
  void finish();

 private:
  struct State;
  void deflate(std::string_view bytes, bool last);
  Sink sink_;
  std::unique_ptr<State> state_;
};

}  // namespace longship::image
