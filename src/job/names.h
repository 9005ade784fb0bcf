// SPDX-License-Identifier: Apache-2.0
// Which names a job file may hold. Each function says in a sentence what is wrong with a name, or nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace longship::job {

using Complaint = std::optional<std::string>;

[[nodiscard]] Complaint job_name_complaint(std::string_view name);
[[nodiscard]] Complaint image_complaint(std::string_view reference);  // "host:5000/team/name:tag@sha256:…"
[[nodiscard]] Complaint dataset_complaint(
    std::string_view dataset);  // "team/name@version", a path, an address
[[nodiscard]] Complaint mount_point_complaint(std::string_view path);  // where data appears in a box
[[nodiscard]] Complaint output_complaint(
    std::string_view pattern);  // a name or pattern within the run's directory
[[nodiscard]] Complaint variable_complaint(std::string_view variable);  // of the environment

}  // namespace longship::job
