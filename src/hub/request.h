// SPDX-License-Identifier: Apache-2.0
// What people and programs ask of the hub: the HTTP API without HTTP. docs/api.md and docs/openapi.json have
// the JSON of each answer.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "message/assignment.h"
#include "message/hub_messages.h"

namespace longship::hub {

// Who asks, found from the token.
struct Caller {
  std::string user;
  std::string team;
  std::string site;        // an agent's token is for one site, and for nothing else
  std::string token = {};  // what the token is remembered by: its hash
};

struct Submit {        // 201 {"jobs": ["digits-7"]}; count > 1: that many jobs, numbered one after another
  std::string job;     // job::to_json, or the JSON of a job file: validated here
  message::Blob code;  // must have been uploaded
  int count = 1;
  std::string key;        // Idempotency-Key: the same key, the same answer, no second job
  std::string site = {};  // only there; empty: wherever it fits
};
enum class Verb { cancel, hold, release, retry };
struct Change {  // 200 Job
  std::string job;
  Verb verb = Verb::cancel;
};
struct ListJobs {  // 200 {"jobs": [Job…], "total": n, "counts": {"running": 3, …}}; newest first
  std::string state, name, owner, site, text;  // filters; empty: any
  std::string before;                          // a job: only older ones
  int limit = 100;
  std::string team = {};  // one more filter
};
struct ShowJob {  // 200 Job with "spec", "attempts", "events"
  std::string job;
};
struct Why {  // 200 {"job", "state", "reason", "places": [{"site", "queue", "fits", "reason", "image"}]}
  std::string job;
};
struct AskSite {  // 200 bytes (a file) or JSON (metrics, report); 503 if the site is not connected
  std::string job;
  int attempt = 0;  // 0: the one committed, else the newest
  message::About about = message::About::file;
  std::string name;
  std::uint64_t offset = 0, length = 0;
};
struct ListSites {};  // 200 {"sites": [Site…]}
struct ShowSite {
  std::string site;
};
struct AddSite {  // 201 {"site", "token"}; with ssh the hub starts the agent itself
  std::string site;
  std::string ssh;        // user@login; empty: the agent comes to us
  std::string longship;   // the program there; empty: "longship" in its PATH
  std::string site_file;  // path there; empty: the agent probes
  int port = 0;           // of ssh; 0: its default
};
struct RemoveSite {
  std::string site;
};
struct PutImage {  // 201: a record whose blob has been uploaded
  std::string record;
};
struct ListImages {};  // 200 {"images": [record…]}
struct AddToken {      // 201 {"token"}: shown once
  std::string user, team;
};
struct ListTokens {};  // 200 {"tokens": [Token…]}: all for whose hub it is, for others their own
struct RemoveToken {   // 200 Token: refused from now on, and who is connected with it is cut off
  std::string id;
};

using Request = std::variant<Submit, Change, ListJobs, ShowJob, Why, AskSite, ListSites, ShowSite, AddSite,
                             RemoveSite, PutImage, ListImages, AddToken, ListTokens, RemoveToken>;

struct Response {
  int status = 200;
  std::string body;  // JSON, or bytes
  std::string type = "application/json";
  std::uint64_t offset = 0, size = 0;  // of bytes: where they are in the file, and how large that is
};
// Of any error: {"error": "sentence"}, the same one the command line prints.
[[nodiscard]] Response failure(int status, std::string_view sentence);

using Respond = std::function<void(Response)>;

}  // namespace longship::hub
