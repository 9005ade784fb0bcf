// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/document.h"
#include "requests.h"
#include "secrets.h"

namespace longship::hub {
namespace {
constexpr std::size_t largest_job = std::size_t{1} << 20;
constexpr std::size_t most_recent = 64;
}  // namespace

Asked Preparation::prepare(std::uint64_t id, const Caller& caller, Request request) {
  Asked asked;
  asked.id = id;
  asked.caller = caller;
  asked.request = std::move(request);
  if (auto* submit = std::get_if<Submit>(&asked.request)) prepare_submit(asked, *submit);
  if (std::holds_alternative<AddSite>(asked.request) || std::holds_alternative<AddToken>(asked.request))
    asked.secret = new_token();
  return asked;
}

void Preparation::prepare_submit(Asked& asked, Submit& submit) {
  if (submit.job.size() > largest_job)
    throw Refusal{
        413, fmt::format("the job has {} bytes, at most {} are taken: code belongs into `code`, data into "
                         "[[data]]",
                         submit.job.size(), largest_job)};
  if (submit.key.size() > 256) throw Refusal{400, "an Idempotency-Key has at most 256 characters"};
  if (!submit.code.digest.empty()) {
    if (!formats::is_digest(submit.code.digest))
      throw Refusal{400, fmt::format("\"{}\" is no digest of a bundle", printable(submit.code.digest))};
    if (!blobs_.has(submit.code.digest))
      throw Refusal{409, fmt::format("the job's code {} has not been uploaded", submit.code.digest)};
  }
  try {
    asked.spec = read_spec(submit.job);
  } catch (const Error& error) {
    throw Refusal{400, error.what()};
  }
  submit.job.clear();
}

std::shared_ptr<const Spec> Preparation::read_spec(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = recent_.find(text); found != recent_.end()) return found->second;
  }
  auto spec = std::make_shared<Spec>();
  spec->job = job::from_json(text, "job");
  spec->json = formats::dump_json(formats::parse_json(job::to_json(spec->job), "job"));
  spec->digest = formats::digest_of(spec->json);
  const std::lock_guard lock(mutex_);
  if (recent_.size() >= most_recent) recent_.clear();
  return recent_.emplace(text, std::move(spec)).first->second;
}

}  // namespace longship::hub
