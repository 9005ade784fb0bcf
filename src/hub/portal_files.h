// SPDX-License-Identifier: Apache-2.0
// The portal's files as `vite build` made them, inside the program: compressed already, each with its type
// and a tag that changes with its content. cmake/portal.cmake writes the definition into the build directory.
//
// "/index.html" is also what a page's own address ("/", "/jobs/digits-7", "/sites") is answered with; files
// beneath
// "/assets/" have a digest in their names and may be kept for ever.
#pragma once
#include <span>
#include <string_view>

namespace longship::hub {

struct PortalFile {
  std::string_view path;                // "/index.html", "/assets/index-1f2e3d.js"
  std::string_view type;                // "text/html; charset=utf-8"
  std::string_view etag;                // with its quotes, as the header wants it
  std::span<const unsigned char> gzip;  // the body, for Content-Encoding: gzip
};

[[nodiscard]] std::span<const PortalFile> portal_files();  // sorted by path

}  // namespace longship::hub
