// SPDX-License-Identifier: Apache-2.0
// What each maker's MPI consists of, as data. docs/containers.md has the same as a table.
#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace longship::fit {

struct Recipe {
  std::string_view maker, family;
  std::vector<std::string_view> says;       // one of these is in its library
  std::vector<std::string_view> libraries;  // file names of its C library, the most telling first
  std::vector<std::string_view> siblings;   // beginnings of the names of its other libraries, beside it
  std::vector<std::string_view> loads;      // libraries that it opens by name while it runs
  std::vector<std::string_view> places;   // plug-ins and settings: absolute, or from the library's directory
  std::vector<std::string_view> devices;  // in /dev; one that ends in '*' stands for all that begin so
};

// The first whose words are in the library is it: those that are built from another come before it.
[[nodiscard]] std::span<const Recipe> mpi_recipes();

// Libraries that bring directories of their own along, whoever uses them.
struct Companion {
  std::string_view library;              // beginning of its name
  std::vector<std::string_view> places;  // as above
  std::string_view variable;             // set to the first of them that is there; empty: none
};
[[nodiscard]] std::span<const Companion> companions();

// Whether a library belongs to the communication and has to be the host's.
[[nodiscard]] bool is_communication(std::string_view name);

// Further names by which programs ask for a library of this ABI: "libmpich.so.12" for "libmpi.so.12".
[[nodiscard]] std::vector<std::string> aliases(std::string_view family, std::string_view name);

// Below these the host's vendors and modules keep MPIs, as the variables of their modules say.
[[nodiscard]] std::span<const std::string_view> module_variables();

}  // namespace longship::fit
