// SPDX-License-Identifier: Apache-2.0
// The portal's files, which the program carries. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "portal_files.h"

namespace longship::hub::http {

inline awaitable<void> send_page(Exchange& exchange, const std::string& path, std::string_view known) {
  const auto files = portal_files();
  const auto find = [&](std::string_view name) {
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == name; });
    return found == files.end() ? nullptr : &*found;
  };
  const auto* file = find(path);
  const bool has_ending = path.find('.', path.rfind('/')) != std::string::npos;
  if (file == nullptr && (!has_ending || path.starts_with("/jobs/"))) file = find("/index.html");
  if (file == nullptr) {
    auto missing =
        refusal(404, files.empty() ? "this hub was built without the portal" : "there is no such page");
    co_await exchange.send(std::move(missing));
    co_return;
  }
  Reply reply{.type = std::string(file->type)};
  const bool for_ever = file->path.starts_with("/assets/");
  reply.headers = {{"ETag", std::string(file->etag)},
                   {"Cache-Control", for_ever ? "public, max-age=31536000, immutable" : "no-cache"},
                   {"Content-Security-Policy", std::string(page_policy)}};
  if (known == file->etag) {
    reply.status = 304;
  } else {
    reply.headers.emplace_back("Content-Encoding", "gzip");
    reply.body.assign(reinterpret_cast<const char*>(file->gzip.data()), file->gzip.size());
  }
  co_await exchange.send(std::move(reply));
}

}  // namespace longship::hub::http
