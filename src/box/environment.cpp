// SPDX-License-Identifier: Apache-2.0
// The rule is in docs/containers.md; here are its words.
#include <algorithm>
#include <array>
#include <string_view>

#include "box.h"

namespace longship::box {
namespace {

constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view our_python = "/opt/longship/python";

// Kept from the host. One that ends in '*' stands for all that begin so.
constexpr std::array kept = std::to_array<std::string_view>({
    // batch systems and MPI launchers: who am I, where are the others
    "SLURM_*",
    "SLURMD_*",
    "SRUN_*",
    "PMI_*",
    "PMI2_*",
    "PMIX_*",
    "PRTE_*",
    "OMPI_*",
    "OPAL_*",
    "ORTE_*",
    "MPI*",
    "HYDRA_*",
    "HYDI_*",
    "MV2_*",
    "I_MPI_*",
    "FI_*",
    "UCX_*",
    "PSM2_*",
    "LSB_*",
    "LSF_*",
    "LS_JOBPID",
    "JSM_*",
    "PBS_*",
    "PALS_*",
    "FLUX_*",
    "ALPS_*",
    "CRAY_*",
    // training
    "LONGSHIP_*",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OMP_*",
    "KMP_*",
    "GOMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "NCCL_*",
    "GLOO_*",
    "TORCH_*",
    "TF_*",
    "HOROVOD_*",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    // the person and the terminal
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "HOME",
    "USER",
    "LOGNAME",
    "TZ",
    "DISPLAY",
    "XAUTHORITY",
    "SSH_AUTH_SOCK",
    "KRB5CCNAME",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
});

bool is_kept(std::string_view name) {
  return std::any_of(kept.begin(), kept.end(), [&](std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

}  // namespace

Environment boxed_environment(const Environment& image, const Environment& host, const Environment& chosen) {
  Environment result = image;
  for (const auto& [name, value] : host)
    if (is_kept(name)) result.insert_or_assign(name, value);
  for (const auto& [name, value] : chosen) result.insert_or_assign(name, value);
  if (auto& path = result["PATH"]; path.empty()) path = default_path;
  auto& python = result["PYTHONPATH"];  // the image's or the user's own modules come first
  if (!python.empty()) python += ':';
  python += our_python;
  result["LONGSHIP_IN_BOX"] = "1";
  return result;
}

std::vector<Bind> launcher_directories(const Environment& host) {
  std::vector<Bind> binds;
  for (const char* name : {"PMIX_SERVER_TMPDIR", "PMIX_SYSTEM_TMPDIR", "PMIX_SERVER_NSPACE_TMPDIR"}) {
    const auto found = host.find(name);
    if (found == host.end() || !found->second.starts_with('/')) continue;
    const auto same = [&](const Bind& bind) { return bind.from == found->second; };
    if (std::none_of(binds.begin(), binds.end(), same))
      binds.push_back({.from = found->second, .to = found->second, .optional = true});
  }
  return binds;
}

}  // namespace longship::box
