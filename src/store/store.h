// SPDX-License-Identifier: Apache-2.0
// Where images live on this machine or site: files called by their content's digest, and names that lead to
// them.
//
//   blobs/sha256/HEX      SquashFS files
//   images/NAME.json      what a name stands for; "/" in a name is "+" here
//   pulled/sha256/HEX     blobs as a registry gave them, for the next pull that wants the same
//   pulled/partial/HEX    what came of a blob before a pull broke off; whoever adds to it holds its lock
//   steps/HEX.json        a step of a build that was done before, by what went into it
//   asides/               work in progress
//   lock                  shared while something is being added, exclusive while unused files are being
//   removed
//
// Everything appears complete, by a rename, or not at all; any number of processes may work here at the same
// time, and any of them may be killed at any moment.
//
// A centre can offer a store to everybody (LONGSHIP_CENTRAL_STORE): it is only read, and what has the same
// name in one's own store comes first.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aside.h"
#include "base/error.h"
#include "image.h"

namespace longship::store {

// $LONGSHIP_STORE, or longship in $XDG_DATA_HOME, or ~/.local/share/longship.
[[nodiscard]] std::filesystem::path default_location();

// $LONGSHIP_CENTRAL_STORE; empty: there is none.
[[nodiscard]] std::filesystem::path central_location();

// What verify() found wrong.
struct Damage {
  std::string digest;
  std::vector<std::string> images;  // that need it
  std::string what;                 // "is missing", "its content has changed"
};

class Store {
 public:
  explicit Store(
      std::filesystem::path where = default_location(),
      std::filesystem::path central = central_location());  // nothing is made before something is added

  [[nodiscard]] const std::filesystem::path& location() const { return where_; }
  // An image that has no such name is an Error with the nearest names and the command that makes one.
  [[nodiscard]] Image find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::vector<Image> list()
      const;  // by name; one that cannot be read is left out with a warning
  [[nodiscard]] std::filesystem::path root_of(const Image& image) const;  // its SquashFS file
  [[nodiscard]] std::filesystem::path blob(std::string_view digest) const;

  // Every file re-hashed; `checked` is called with the bytes of each. A pulled blob that has changed is
  // removed: it can be fetched again.
  [[nodiscard]] std::vector<Damage> verify(const std::function<void(std::uint64_t)>& checked = {}) const;
  // Removes what no name needs: files, blobs that no image here was made from, halves of blobs, steps of
  // builds (all, or only those whose files are gone), what killed processes left. The bytes that became free.
  std::uint64_t collect_garbage(bool steps_too);

  [[nodiscard]] Aside aside() const;
  // Gives the file its place and the image its name; fills in root, size and time. What had the name loses
  // it.
  Image add(Image image, Aside file);
  // Another name for what is here already.
  void add(const Image& image);
  // Takes the name away, and the files that nothing refers to any more.
  void remove(std::string_view name);

  // A blob that was pulled before, open for reading; null: it has to be fetched. While it is open nobody
  // removes it. Its content is for the reader to verify.
  [[nodiscard]] Fd pulled(std::string_view digest) const;
  Fd keep_pulled(std::string_view digest, Aside file);  // the same blob, from now on kept
  void forget_pulled(std::string_view digest) const;
  // For a blob that is to be fetched: with what an earlier pull got of it, if nobody else is at that. It
  // stays if it is not kept; the next to verify what is in it is who completes it.
  [[nodiscard]] Aside partial(std::string_view digest) const;

  // Steps of builds: the key is a digest of all that went in. `image.name` is the name the build was for; the
  // step is forgotten together with it.
  [[nodiscard]] std::optional<Image> find_step(std::string_view key) const;
  void add_step(std::string_view key, const Image& image);
  Image add_step(std::string_view key, Image image, Aside file);

 private:
  [[nodiscard]] std::filesystem::path own_blob(std::string_view digest) const;
  [[nodiscard]] std::filesystem::path record_of(std::string_view name) const;
  [[nodiscard]] std::filesystem::path record_to_read(std::string_view name) const;  // also the centre's
  [[nodiscard]] std::filesystem::path step_of(std::string_view key) const;
  [[nodiscard]] Fd lock(int kind) const;
  void place(Image& image, Aside file) const;
  void write_record(const std::filesystem::path& path, const Image& image) const;
  void forget_steps(std::string_view name) const;
  std::uint64_t remove_unused() const;  // the bytes that became free
  std::uint64_t remove_unused_pulled() const;
  void verify_pulled(const std::function<void(std::uint64_t)>& checked) const;
  [[nodiscard]] std::filesystem::path pulled_path(std::string_view digest) const;
  [[nodiscard]] Error not_found(std::string_view name) const;

  std::filesystem::path where_, central_;
};

}  // namespace longship::store
