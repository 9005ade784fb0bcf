// SPDX-License-Identifier: Apache-2.0
// Logs, outputs, metrics and reports are at the sites: a request for them becomes a question to the agent,
// and its answer the reply.
#include <fmt/format.h>

#include "requests.h"
#include "step.h"

namespace longship::hub {
namespace {

const Attempt& chosen_attempt(const State& state, const Job& job, int number) {
  if (job.attempts.empty())
    throw Refusal{409, fmt::format("{} has not been started yet: see longship why {}", state.id_of(job),
                                   state.id_of(job))};
  if (number == 0) return job.committed != 0 ? job.attempts[job.committed - 1] : job.attempts.back();
  if (number < 0 || static_cast<std::size_t>(number) > job.attempts.size())
    throw Refusal{
        404, fmt::format("{} has no attempt {}, only {}", state.id_of(job), number, job.attempts.size())};
  return job.attempts[static_cast<std::size_t>(number - 1)];
}

void put(const Step& step, Question question) {
  auto& state = step.state;
  question.asked.id = ++state.last_question;
  question.until = step.now + question_timeout;
  step.send(question.link, question.asked);
  state.questions.emplace(question.asked.id, std::move(question));
}

bool from_the_end(std::uint64_t offset) {
  return static_cast<std::int64_t>(offset) < 0;
}

}  // namespace

void ask_site(const Step& step, std::uint64_t request, const Caller& caller, const AskSite& asked) {
  const auto index = required_job(step.state, asked.job);
  require_access(step.state, caller, index);
  const auto& job = step.state.job(index);
  const auto& attempt = chosen_attempt(step.state, job, asked.attempt);
  const auto& site = step.state.site(attempt.site);
  const auto id = step.state.id_of(job, attempt);
  if (site.link == 0)
    throw Refusal{
        503, fmt::format("{} is at site {}, whose agent is not connected: its files can be read when it is "
                         "back",
                         id.text(), site.record.name)};
  Question question;
  question.request = request;
  question.link = site.link;
  question.name = id.text();
  question.asked = {0, id, asked.about, asked.name, asked.offset, asked.length};
  question.measure = asked.about == message::About::file && from_the_end(asked.offset);
  if (question.measure) {
    const auto wanted = question.asked;
    question.asked.offset = question.asked.length = 0;
    put(step, std::move(question));
    auto& waiting = step.state.questions.at(step.state.last_question);
    waiting.asked.offset = wanted.offset;  // what was meant; the agent was asked for nothing but the size
    waiting.asked.length = wanted.length;
    return;
  }
  put(step, std::move(question));
}

void answered(const Step& step, LinkId link, const message::Answer& answer) {
  auto& questions = step.state.questions;
  const auto found = questions.find(answer.id);
  if (found == questions.end() || found->second.link != link) return;  // too late, or not asked
  auto question = std::move(found->second);
  questions.erase(found);
  if (!answer.error.empty()) {
    step.reply(question.request, failure(404, answer.error));
  } else if (question.measure) {
    const auto back = std::uint64_t{0} - question.asked.offset;
    question.asked.offset = answer.size > back ? answer.size - back : 0;
    question.measure = false;
    put(step, std::move(question));
  } else {
    Response response;
    response.body = answer.bytes;
    response.offset = question.asked.offset;
    response.size = answer.size;
    if (question.asked.about == message::About::file) response.type = "application/octet-stream";
    step.reply(question.request, std::move(response));
  }
}

void expire_questions(const Step& step, LinkId gone) {
  auto& questions = step.state.questions;
  for (auto at = questions.begin(); at != questions.end();) {
    const auto& question = at->second;
    const bool late = gone == 0 && question.until <= step.now;
    const bool cut = gone != 0 && question.link == gone;
    if (late)
      step.reply(question.request,
                 failure(503, fmt::format("the agent that has {} did not answer within {} seconds: try again",
                                          question.name, question_timeout.count())));
    if (cut)
      step.reply(question.request,
                 failure(503, fmt::format("the agent that has {} was cut off: try again when it is back",
                                          question.name)));
    at = late || cut ? questions.erase(at) : std::next(at);
  }
}

}  // namespace longship::hub
