// SPDX-License-Identifier: Apache-2.0
#include "box_words.h"

#include <cstdlib>

#include "base/text.h"
#include "installation.h"
#include "store/store.h"

namespace longship::cli {
namespace {

bool begins_with_option(const std::vector<std::string>& words) {
  return !words.empty() && words.front().starts_with('-') && words.front() != "--";
}

void drop_dashes(std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
}

// An option that is not ours was taken for the first word of the rest.
void refuse_option(const Command& command, const std::vector<std::string>& words) {
  if (begins_with_option(words))
    throw WrongWords(command, "The following argument was not expected: " + printable(words.front()));
}

}  // namespace

Command& declare_box(Command& app, BoxWords& words) {
  auto& command = app.command("box", "Run a program in an image, a directory or a SquashFS file");
  command.option("-b,--bind", words.binds, "Let a directory or file of the host in; may be repeated",
                 {.value = "FROM[:TO[:ro]]", .one_each = true});
  command.option("-e,--env", words.environment, "Set a variable, or keep the host's; may be repeated",
                 {.value = "NAME[=VALUE]", .one_each = true});
  command.option("--cwd", words.directory, "Where to start; else the image's, or the current directory",
                 {.value = "DIR"});
  command.option("--join", words.join,
                 "Share the box with all that are started under this name, as the ranks of an MPI program do",
                 {.value = "NAME"});
  command.option("--mpi", words.mpi,
                 "Whose MPI programs use: the image's own (image), or the host's (host, or its library)",
                 {.value = "image|host|PATH"});
  command.option("--gpus", words.gpus,
                 "Let GPUs in with the driver's libraries, by CDI files; none hides them from programs",
                 {.value = "all|none|0,1|…"});
  command.flag("-w,--writable", words.writable, "Let it write to the image; that is gone afterwards");
  command.option("--writable-on", words.disk,
                 "The same on a local disk, where memory is short: in this directory", {.value = "DIR"});
  command.flag("--private-tmp", words.private_tmp, "An empty /tmp instead of the host's");
  command.flag("--no-home", words.no_home, "Without the home directory");
  command.flag("--fake-root", words.fake_root, "Seem to be root, for package managers");
  command.option("--entered", words.entered, "", {.hidden = true});  // what we start in an engine's container
  command.footer =
      examples(
          "  longship box debian-torch -- python3 -c 'import torch'\n"
          "  longship box --bind /scratch/data:/data:ro ./rootfs ls /data\n"
          "  longship box --gpus all debian-torch -- python3 train.py\n"
          "  longship box -w --fake-root debian -- apt-get install hello\n"
          "  srun --mpi=pmix longship box --join ring mpi-ring:openmpi ring\n"
          "  srun --mpi=pmi2 longship box --join ring --mpi host mpi-ring:mpich ring\n") +
      "\nlongship box [OPTIONS] IMAGE [OPTIONS] [--] [PROGRAM [ARGUMENTS...]]\n"
      "IMAGE is a name (longship image ls), or the path of a directory or SquashFS file, which begins\n"
      "with / or a dot. Without PROGRAM the image's own starts, or a shell.";
  return command;
}

bool understand_box(const Command& command, std::vector<std::string> rest, BoxWords& words, Parser parser) {
  drop_dashes(rest);
  if (!words.entered.empty()) {  // in an engine's container: there is no image to choose
    words.command = std::move(rest);
    return true;
  }
  if (rest.empty()) throw WrongWords(command, "IMAGE is required");
  refuse_option(command, rest);
  words.image = rest.front();
  rest.erase(rest.begin());
  if (begins_with_option(rest)) {
    auto more = parser(command, rest);
    if (!more) return false;
    rest = std::move(more->rest);
    refuse_option(command, rest);
  }
  drop_dashes(rest);
  words.command = std::move(rest);
  return true;
}

std::vector<std::string> command_of(const BoxWords& words, const store::Config& config) {
  if (!words.command.empty()) return words.command;
  std::vector<std::string> command = config.entrypoint;
  command.insert(command.end(), config.command.begin(), config.command.end());
  return command.empty() ? std::vector<std::string>{"/bin/sh"} : command;
}

box::Spec spec_of(const BoxWords& words, const ChosenImage& image) {
  box::Spec spec;
  spec.root = image.root;
  spec.home = !words.no_home;
  spec.private_tmp = words.private_tmp;
  spec.fake_root = words.fake_root;
  spec.writable = words.writable || !words.disk.empty() ? box::Writable::temporary : box::Writable::no;
  spec.upper = words.disk;
  spec.unpacked = store::default_location() / "unpacked";
  spec.working_directory = words.directory.empty() ? image.config.working_directory : words.directory;
  spec.binds.push_back({.from = in_the_box(), .to = "/opt/longship", .read_only = true, .optional = true});
  for (const auto& word : words.binds) spec.binds.push_back(parse_bind(word));
  if (words.join.empty()) return spec;
  // Nodes may share a host, and the directory in which boxes are met.
  const char* node = std::getenv("SLURMD_NODENAME");
  spec.join = node == nullptr ? words.join : words.join + "@" + node;
  for (const auto& bind : box::launcher_directories(current_environment())) spec.binds.push_back(bind);
  return spec;
}

Environment chosen_variables(const BoxWords& words) {
  Environment chosen;
  for (const auto& word : words.environment) chosen.insert(parse_variable(word));
  return chosen;
}

}  // namespace longship::cli
