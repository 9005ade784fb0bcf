// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "box/host_mpi.h"
#include "chosen_image.h"
#include "command.h"
#include "formats/document.h"
#include "image_libraries.h"
#include "installation.h"
#include "launch/across.h"
#include "launch/allocation.h"
#include "launch/engine_start.h"
#include "launch/environment.h"
#include "launch/mpi.h"
#include "store/store.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Options {
  int ranks = 0, per_node = 0, nodes = 0, threads = 0, gpus = 0;
  std::string image, output, record, through_engine;
  std::vector<std::string> binds, variables, command;
  bool no_prefix = false, no_bind = false, mpi = false, host_mpi = false, helper = false, entered = false;
};

void declare(Command& command, Options& options) {
  command.option("-n,--ranks", options.ranks, "Ranks in all, spread over the nodes",
                 {.range = Range{1, 1'000'000}});
  command.option("--per-node", options.per_node, "Ranks on each node, instead of -n",
                 {.range = Range{1, 1'000'000}, .excludes = "--ranks"});
  command.option("--nodes", options.nodes, "Nodes of the allocation to use; all of them if not said",
                 {.range = Range{1, 1'000'000}});
  command.option("--threads", options.threads,
                 "Threads and cores per rank; the node's cores divided if not said",
                 {.range = Range{1, 1'000'000}});
  command.option("--gpus-per-rank", options.gpus,
                 "GPUs of each rank, of those that the batch system gave or the node has",
                 {.range = Range{1, 1024}});
  command.option("--image", options.image, "Run in this image: its name, a directory or a SquashFS file");
  command.option("--bind", options.binds, "Let FROM[:TO[:ro]] into the box; may be repeated",
                 {.needs = {"--image"}, .one_each = true});
  command.option("--env", options.variables, "Set NAME=VALUE for the ranks; may be repeated",
                 {.one_each = true});
  command.option("--output", options.output, "Also keep each rank's output in files in this directory");
  command.option("--record", options.record, "Where ranks record what they do, for longship report");
  command.flag("--no-prefix", options.no_prefix, "Output as it is, without [rank]");
  command.flag("--no-bind", options.no_bind, "Leave it to the system which cores a rank runs on");
  command.flag("--mpi", options.mpi, "The command is an MPI program: srun or mpiexec starts its ranks");
  command.flag("--host-mpi", options.host_mpi,
               "With --mpi: the host's MPI takes the place of the image's; also LONGSHIP_MPI=host",
               {.needs = {"--mpi", "--image"}});
  command.flag("--node-helper", options.helper, "", {.hidden = true});  // what we start on the other nodes
  command.flag("--entered", options.entered, "", {.hidden = true});     // and in an engine's container
  command.option("--through-engine", options.through_engine, "", {.hidden = true});  // what starts that
  command.footer =
      "The command that every rank runs, CMD..., follows the options, after \"--\" if you like. Each rank\n"
      "finds RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and the rest of torchrun's names. Inside a Slurm\n"
      "allocation the ranks are spread over its nodes. The first rank that fails stops the others; the exit "
      "code is its own, or\n"
      "128 + the signal that killed it.\n\n" +
      examples(
          "  longship launch -n 4 python3 train.py\n"
          "  longship launch -n 4 --image debian-torch python3 train.py --epochs 3\n"
          "  salloc -N 2 longship launch --per-node 2 python3 train.py\n"
          "  salloc -N 2 longship launch --mpi --per-node 2 --image mpi-ring:openmpi ring\n"
          "  salloc -N 2 longship launch --mpi --host-mpi --per-node 2 --image mpi-ring:mpich ring\n");
}

std::filesystem::path made_directory(const std::string& path) {
  if (path.empty()) return {};
  const auto absolute = std::filesystem::absolute(path);
  std::filesystem::create_directories(absolute);
  return absolute;
}

std::vector<int> layout(const Options& options, const std::optional<launch::Allocation>& allocation) {
  const int there = allocation ? allocation->nodes : 1;
  const int nodes = options.nodes > 0 ? options.nodes : there;
  if (nodes > there)
    throw Error(Failure::impossible, "--nodes {}: there {} {} here{}", nodes, there == 1 ? "is" : "are",
                there, allocation ? "" : ", outside of an allocation (salloc, sbatch)");
  if (options.per_node > 0) return std::vector<int>(static_cast<std::size_t>(nodes), options.per_node);
  if (options.ranks == 0) throw Error(Failure::usage, "how many ranks? Say -n or --per-node");
  if (options.ranks < nodes)
    throw Error(Failure::usage, "-n {}: fewer ranks than the {} nodes; choose with --nodes", options.ranks,
                nodes);
  return launch::spread(options.ranks, nodes);
}

launch::Boxed boxed(const Options& options) {
  const auto image = choose_image(options.image);
  launch::Boxed boxed{{}, image.config.environment};
  boxed.libc = image.facts.libc;
  boxed.engine = launch::engine_of_environment(current_environment());
  boxed.spec.root = image.root;
  boxed.spec.unpacked = store::default_location() / "unpacked";
  boxed.spec.binds.push_back({in_the_box(), "/opt/longship", true, true});
  for (const auto& word : options.binds) boxed.spec.binds.push_back(parse_bind(word));
  // The ranks start where the user is, not where the image says: that is where train.py is.
  return boxed;
}

std::string mpi_of(const Options& options) {
  return options.image.empty() ? std::string() : choose_image(options.image).facts.mpi;
}

void choose_mpi(const Options& options, launch::Plan& plan) {
  auto which = box::mpi_of_site(current_environment());
  if (options.host_mpi && which == "image") which = "host";
  if (which != "image")
    box::let_in_host_mpi(which, facts_for_libraries(choose_image(options.image)), plan.box->environment,
                         plan.box->spec, plan.environment);
}

launch::Plan plan_of(const Options& options, const std::optional<launch::Allocation>& allocation) {
  launch::Plan plan;
  plan.command = options.command;
  for (const auto& word : options.variables) {
    auto [name, value] = parse_variable(word);
    plan.environment[name] = std::move(value);
  }
  plan.ranks = layout(options, allocation);
  plan.threads_per_rank = options.threads;
  plan.gpus_per_rank = options.gpus;
  plan.bind = !options.no_bind;
  plan.output = made_directory(options.output);
  plan.record = made_directory(options.record);
  plan.secret = launch::make_secret();
  if (options.image.empty()) {
    plan.directory = std::filesystem::current_path();
    const auto ours = in_the_box() / "python";
    plan.environment.emplace("PYTHONPATH", launch::with_python_path(ours, current_environment()));
  } else {
    plan.box = boxed(options);
    if (options.mpi) choose_mpi(options, plan);
    plan.environment.emplace("PYTHONPATH",
                             launch::with_python_path("/opt/longship/python", plan.box->environment));
  }
  return plan;
}

void say_result(const launch::Result& result, const Context& context) {
  launch::tell(result);
  if (!context.json) return;
  formats::Table table;
  table.set("exit_code", result.exit_code);
  if (result.failure) {
    table.set("failed_rank", result.failure->rank);
    table.set("failed_node", result.failure->node);
    table.set("how", result.failure->ending.sentence());
  }
  fmt::print("{}\n", formats::dump_json(table));
}

void check_command(std::vector<std::string>& command) {
  if (!command.empty() && command[0] == "--")
    command.erase(command.begin());
  else if (!command.empty() && command[0].starts_with('-'))
    throw Error(Failure::usage, "unknown option {}; the command begins with a word, or after --",
                printable(command[0]));
  if (command.empty()) throw Error(Failure::usage, "nothing to run: give a command after the options");
}

void run(Options& options, Context& context) {
  if (options.helper) {
    context.exit_code = launch::help(options.entered);
    return;
  }
  if (!options.through_engine.empty()) {
    if (!options.command.empty() && options.command[0] == "--")
      options.command.erase(options.command.begin());
    launch::start_through_engine(options.through_engine, options.command);
  }
  check_command(options.command);
  const auto allocation = launch::current_allocation(current_environment());
  const auto plan = plan_of(options, allocation);
  launch::Interruptions interruptions;
  launch::Screen screen({.prefix = !options.no_prefix,
                         .colour = terminal(context.json ? 2 : 1).colour,
                         .all_to_stderr = context.json});
  launch::Surroundings surroundings{interruptions, screen, nullptr};
  const std::vector<std::string> helper = {node_program(), "launch", "--node-helper"};
  const auto result = options.mpi ? launch::run_mpi(plan, mpi_of(options), helper, screen, surroundings)
                      : allocation && !allocation->here
                          ? launch::run_across(plan, helper, screen, surroundings)
                      : launch::uses_engine(plan) ? launch::run_in_engine(plan, helper, screen, surroundings)
                                                  : launch::run_here(plan, surroundings);
  say_result(result, context);
  context.exit_code = result.exit_code;
}

}  // namespace

void add_launch(Command& app, Context& context) {
  auto options = std::make_shared<Options>();
  auto& command =
      app.command("launch", "Start the ranks of a command, here or on all nodes of an allocation");
  declare(command, *options);
  command.action_on_rest = [options, &context](std::vector<std::string> rest) {
    options->command = std::move(rest);
    run(*options, context);
  };
}

}  // namespace longship::cli
