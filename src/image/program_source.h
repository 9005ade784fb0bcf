// SPDX-License-Identifier: Apache-2.0
// What another program writes to its standard output. The end is reached only if the program also ended well:
// one that died half-way is an Error with its last words, not a short archive.
#pragma once
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/process.h"
#include "bytes.h"

namespace longship::image {

class ProgramSource final : public ByteSource {
 public:
  ProgramSource(std::string name, Command command);  // its output and errors are set by us
  ~ProgramSource() override;                         // asks it to end and to clean up, if it is still running
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;

 private:
  void listen(Fd errors);
  void require_success();

  std::string name_;
  Fd output_;
  std::unique_ptr<Process> process_;
  std::vector<std::string> last_words_;  // the listener's until it is joined
  std::thread listener_;
};

}  // namespace longship::image
