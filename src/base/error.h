// SPDX-License-Identifier: Apache-2.0
// What went wrong, as a sentence for the person who has to mend it.
//
// Thrown where found; each caller that knows more about what was being done says so with within(); printed
// once, in cli: "cannot start job gan3d: image hpc-torch: layer 3 of 7: digest does not match". The kind
// becomes the exit code.
#pragma once
#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace longship {

enum class Failure : int {
  failed = 1,      // it was tried and did not work
  usage = 2,       // what was asked for makes no sense: a wrong option, a wrong key in a file
  impossible = 3,  // it makes sense, but not on this machine or site
};

class Error : public std::exception {
 public:
  template <class... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : text_(fmt::vformat(format, fmt::make_format_args(args...))) {}

  template <class... Args>
  Error(Failure failure, fmt::format_string<Args...> format, Args&&... args)
      : text_(fmt::vformat(format, fmt::make_format_args(args...))), failure_(failure) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] Failure failure() const noexcept { return failure_; }
  [[nodiscard]] int number() const noexcept { return number_; }  // errno, or 0

  // Prefixes what was being done; within() is the usual way to call it.
  void add(std::string_view doing);

  // "cannot open /x: No such file or directory": the text, then errno's own.
  template <class... Args>
  static Error from_errno(int number, fmt::format_string<Args...> format, Args&&... args) {
    return with_number(number, fmt::vformat(format, fmt::make_format_args(args...)));
  }

  // What a library threw: of the standard library's file system the path and errno's text, in our order; of a
  // lack of memory a sentence.
  static Error of(const std::exception& thrown);

 private:
  static Error with_number(int number, std::string text);

  std::string text_;
  Failure failure_ = Failure::failed;
  int number_ = 0;
};

// Does the work; an Error that leaves it is told what was being done. Other exceptions become Errors.
template <class Work>
decltype(auto) within(std::string_view doing, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (Error& error) {
    error.add(doing);
    throw;
  } catch (const std::exception& error) {
    Error ours = Error::of(error);
    ours.add(doing);
    throw ours;
  }
}

}  // namespace longship
