// SPDX-License-Identifier: Apache-2.0
#include "gpus.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "fit/elf.h"
#include "fit/fit.h"

namespace longship::launch {
namespace fs = std::filesystem;
namespace {

const fs::path libraries_in_the_box = "/opt/longship-host/gpu/lib";

// What NVIDIA's driver consists of for programs that compute.
constexpr std::string_view of_nvidia =
    "libcuda.so.1\n"
    "libnvidia-ml.so.1\n"
    "libnvidia-ptxjitcompiler.so.1\n"
    "libnvidia-nvvm.so.4\n"
    "libnvidia-opencl.so.1\n"
    "/usr/bin/nvidia-smi\n";

bool is_gpu(std::string_view kind) {
  return kind.ends_with("/gpu");
}

Environment hidden() {
  return {{"CUDA_VISIBLE_DEVICES", ""},
          {"NVIDIA_VISIBLE_DEVICES", "void"},
          {"ROCR_VISIBLE_DEVICES", ""},
          {"HIP_VISIBLE_DEVICES", ""},
          {"ZE_AFFINITY_MASK", ""}};
}

std::string known_names(const std::vector<CdiSpec>& specs) {
  std::vector<std::string> names;
  for (const auto& spec : specs)
    for (const auto& [name, edits] : spec.devices) names.push_back(printable(spec.kind + "=" + name));
  return names.empty() ? "none" : join(names, ", ");
}

class Chooser {
 public:
  explicit Chooser(const fit::FileTree& host) : host_(host) {}

  // What holds for all devices of a file comes once, with the first of them.
  void add(const CdiSpec& spec, const CdiEdits& device) {
    if (begun_.insert(&spec).second) add(spec.edits);
    add(device);
  }
  [[nodiscard]] bool empty() const { return begun_.empty(); }
  Gpus take() { return std::move(gpus_); }

 private:
  void add(const CdiEdits& edits) {
    for (const auto& device : edits.devices)
      if (device.from != device.to || !device.to.native().starts_with("/dev/"))  // those are there already
        bind(device);
    for (const auto& mount : edits.mounts) {
      bind(mount);
      add_library(mount.from);
    }
    for (const auto& [name, value] : edits.environment) gpus_.environment[name] = value;
  }

  void bind(const CdiEdits::Mount& mount) {
    const auto same = [&](const box::Bind& one) { return one.to == mount.to; };
    if (std::none_of(gpus_.binds.begin(), gpus_.binds.end(), same))
      gpus_.binds.push_back({.from = mount.from, .to = mount.to, .read_only = mount.read_only});
  }

  // The vendor's hooks would make links and the loader's cache in the container; a directory with the
  // libraries under the names that programs ask for does the same for a read-only image.
  void add_library(const fs::path& path) {
    if (path.filename().native().find(".so") == std::string::npos) return;
    const auto real = host_.real(path);
    if (!real) return;
    const fit::MappedFile file(host_.outside(*real));
    const auto elf = fit::read_elf(file.bytes());
    if (elf)
      gpus_.libraries.push_back(
          fit::library_at(host_, *real, elf->soname.empty() ? path.filename().string() : elf->soname));
  }

  const fit::FileTree& host_;
  Gpus gpus_;
  std::set<const CdiSpec*> begun_;
};

void add_all(const std::vector<CdiSpec>& specs, Chooser& chooser) {
  for (const auto& spec : specs) {
    if (!is_gpu(spec.kind)) continue;
    const auto all = spec.devices.find("all");
    if (all != spec.devices.end()) {
      chooser.add(spec, all->second);
      continue;
    }
    for (const auto& [name, edits] : spec.devices) chooser.add(spec, edits);
  }
}

// "0", or with its kind "nvidia.com/gpu=0".
void add_named(std::string_view word, const std::vector<CdiSpec>& specs, Chooser& chooser) {
  const auto equals = word.find('=');
  const auto kind = equals == std::string_view::npos ? std::string_view() : word.substr(0, equals);
  const std::string name(equals == std::string_view::npos ? word : word.substr(equals + 1));
  for (const auto& spec : specs) {
    if (kind.empty() ? !is_gpu(spec.kind) : spec.kind != kind) continue;
    if (const auto found = spec.devices.find(name); found != spec.devices.end())
      return chooser.add(spec, found->second);
  }
  throw Error(Failure::impossible,
              "there is no GPU {} here; the files of the Container Device Interface name: {}",
              printable(word), known_names(specs));
}

std::vector<fs::path> cdi_directories(const Environment& environment) {
  const auto own = environment.find("LONGSHIP_CDI_DIRS");
  if (own == environment.end() || own->second.empty()) return {"/etc/cdi", "/var/run/cdi"};
  std::vector<fs::path> directories;
  for (const auto part : split(own->second, ':')) directories.emplace_back(part);
  return directories;
}

Gpus listed(const fit::FileTree& host, const Environment& environment) {
  const auto own = environment.find("LONGSHIP_GPU_LIST");
  const fs::path file =
      own != environment.end() && !own->second.empty() ? own->second : "/etc/longship/gpus.list";
  if (fs::exists(file)) return gpus_in_list(read_file(file, 65536), file.native(), host, environment);
  if (own != environment.end() && !own->second.empty())
    throw Error("LONGSHIP_GPU_LIST: there is no file {}", printable(file.native()));
  auto gpus = gpus_in_list(of_nvidia, "NVIDIA's libraries", host, environment);
  if (gpus.libraries.empty())
    throw Error(
        Failure::impossible,
        "no GPU can be let in: there are no CDI files (/etc/cdi, /var/run/cdi), no /etc/longship/gpus.list "
        "and "
        "no libcuda.so.1 on this machine: on one with a GPU, \"nvidia-ctk cdi generate\" writes such a file");
  return gpus;
}

void check_glibc(const Gpus& gpus, const fit::ImageFacts& facts) {
  if (!gpus.libraries.empty() && !facts.glibc && facts.looked_for_software)
    throw Error(Failure::impossible,
                "the driver's libraries need glibc, and the image has none: use one with it, such as "
                "debian:bookworm");
  for (const auto& library : gpus.libraries)
    if (facts.glibc && library.glibc && *facts.glibc < *library.glibc)
      throw Error(Failure::impossible,
                  "the driver's {} wants GLIBC_{}, and the image has glibc {}: build the image on a newer "
                  "distribution",
                  library.name, library.glibc->text(), facts.glibc->text());
}

void apply(const Gpus& gpus, const Environment& image, box::Spec& spec, Environment& chosen) {
  spec.binds.insert(spec.binds.end(), gpus.binds.begin(), gpus.binds.end());
  for (const auto& library : gpus.libraries)
    spec.binds.push_back(
        {.from = library.path, .to = libraries_in_the_box / library.name, .read_only = true});
  for (const auto& [name, value] : gpus.environment) chosen.emplace(name, value);
  if (gpus.libraries.empty()) return;
  auto path = libraries_in_the_box.string();
  const auto& set = chosen.contains("LD_LIBRARY_PATH") ? chosen : image;
  if (const auto own = set.find("LD_LIBRARY_PATH"); own != set.end() && !own->second.empty())
    path += ":" + own->second;
  chosen["LD_LIBRARY_PATH"] = path;
}

}  // namespace

Gpus choose_gpus(const std::string& which, const std::vector<CdiSpec>& specs, const fit::FileTree& host) {
  Chooser chooser(host);
  if (which == "none") return {{}, hidden(), {}};
  if (which == "all")
    add_all(specs, chooser);
  else
    for (const auto word : split(which, ',')) add_named(trim(word), specs, chooser);
  return chooser.take();
}

Gpus gpus_in_list(std::string_view text, std::string_view origin, const fit::FileTree& host,
                  const Environment& environment) {
  Gpus gpus;
  const auto directories = fit::loader_directories(host, environment);
  int number = 0;
  for (auto line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    if (line.starts_with('/')) {
      gpus.binds.push_back({.from = line, .to = line, .read_only = true, .optional = true});
    } else if (equals != std::string_view::npos && equals > 0) {
      gpus.environment[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    } else if (line.starts_with("lib") && line.find('/') == std::string_view::npos) {
      if (const auto path = fit::find_library(host, std::string(line), directories))
        gpus.libraries.push_back(fit::library_at(host, *path, std::string(line)));
    } else {
      throw Error("{}:{}: not the name of a library, a path or NAME=VALUE: {}", printable(origin), number,
                  printable(line));
    }
  }
  return gpus;
}

std::string named_or_all(const std::vector<std::string>& gpus) {
  const auto specs = read_cdi(cdi_directories(current_environment()));
  const auto is_named = [&](const std::string& gpu) {
    return std::any_of(specs.begin(), specs.end(),
                       [&](const CdiSpec& spec) { return is_gpu(spec.kind) && spec.devices.contains(gpu); });
  };
  return !gpus.empty() && std::all_of(gpus.begin(), gpus.end(), is_named) ? join(gpus, ",") : "all";
}

bool are_gpus_here() {
  for (const char* node : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd"})
    if (fs::exists(node)) return true;
  const auto specs = read_cdi(cdi_directories(current_environment()));
  return std::any_of(specs.begin(), specs.end(), [](const CdiSpec& spec) { return is_gpu(spec.kind); });
}

void let_in_gpus(const std::string& which, const fit::ImageFacts& facts, const Environment& image,
                 box::Spec& spec, Environment& chosen) {
  const fit::FileTree host;
  const auto environment = current_environment();
  const auto specs = which == "none" ? std::vector<CdiSpec>() : read_cdi(cdi_directories(environment));
  const bool has_gpus =
      std::any_of(specs.begin(), specs.end(), [](const CdiSpec& one) { return is_gpu(one.kind); });
  const bool list = which == "all" && !has_gpus;
  const auto gpus = list ? listed(host, environment) : choose_gpus(which, specs, host);
  check_glibc(gpus, facts);
  explain("GPUs {}: {} places and {} libraries of the host are let in, by {}", which, gpus.binds.size(),
          gpus.libraries.size(), list ? "the list" : "CDI files");
  apply(gpus, image, spec, chosen);
}

}  // namespace longship::launch
