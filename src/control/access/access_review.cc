#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kube/api/authorization/v1.h"
#include "kube/base/mutex.h"
#include "kube/client/client.h"
#include "kube/control/access.h"
#include "kube/queue/parallelize.h"

namespace kube {
namespace {

using authorization::v1::NonResourceAttributes;
using authorization::v1::ResourceAttributes;
using authorization::v1::SelfSubjectAccessReview;

// One question to the server, and which needs it is asked for.
struct Question {
  SelfSubjectAccessReview review{};
  std::vector<std::pair<std::size_t, std::string>> for_needs{};  // index and verb
};

SelfSubjectAccessReview ReviewOf(const AccessNeed& need, const std::string& verb, const std::string& own_namespace) {
  SelfSubjectAccessReview review;
  if (!need.path.empty()) {
    review.spec.non_resource_attributes = NonResourceAttributes{.path = need.path, .verb = verb};
    return review;
  }
  const std::size_t slash = need.resource.find('/');
  const std::string ns = need.ns.value_or("");
  review.spec.resource_attributes = ResourceAttributes{.namespace_ = ns == kOwnNamespace ? own_namespace : ns,
                                                       .verb = verb,
                                                       .group = need.group,
                                                       .resource = need.resource.substr(0, slash),
                                                       .subresource = slash == std::string::npos ? "" : need.resource.substr(slash + 1),
                                                       .name = verb == "create" ? "" : need.name};
  return review;
}

std::vector<Question> QuestionsOf(const std::vector<AccessNeed>& needs, const std::string& own_namespace) {
  std::vector<Question> questions;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    for (const std::string& verb : needs[i].verbs) {
      SelfSubjectAccessReview review = ReviewOf(needs[i], verb, own_namespace);
      const auto same = std::find_if(questions.begin(), questions.end(), [&](const Question& q) { return q.review == review; });
      if (same != questions.end()) {
        same->for_needs.emplace_back(i, verb);
      } else {
        questions.push_back({.review = std::move(review), .for_needs = {{i, verb}}});
      }
    }
  }
  return questions;
}

// In words: what the server cannot answer is no reason to stop, but people should know why nothing was checked.
Error Unanswered(const Error& error) {
  if (IsNotFound(error) || IsMethodNotSupported(error))
    return error.WithContext("the server has no SelfSubjectAccessReview: it may not use authorization");
  return error.WithContext("ask the server what is allowed");
}

}  // namespace

Result<AccessReport> ReviewAccess(const Context& ctx, const Client& client, const std::vector<AccessNeed>& needs,
                                  const ReviewOptions& options) {
  const std::vector<Question> questions = QuestionsOf(needs, client.default_namespace());
  auto [limited, stop] = ctx.WithTimeout(options.timeout).WithCancel();
  Mutex mu;
  AccessReport report;
  std::vector<char> refused(questions.size(), 0);  // each written by one thread
  const CancelSource& stop_asking = stop;
  const Context& asking = limited;
  const Result<void> asked = ParallelizeUntil(asking, options.parallel, questions.size(), [&](std::size_t i) {
    const Result<SelfSubjectAccessReview> answer = client.Create(asking, questions[i].review);
    MutexLock lock(mu);
    if (answer) {
      ++report.asked;
      refused[i] = answer->status.allowed ? 0 : 1;
      return;
    }
    // One that cannot be answered is like the others: there is no need to wait for as many errors.
    if (!report.unknown && !asking.stopped()) report.unknown = Unanswered(answer.error());
    stop_asking.Cancel();
  });
  if (std::optional<Error> stopped = ctx.Err()) return *stopped;
  if (!report.unknown && (!asked || report.asked < questions.size())) {
    report.unknown =
        Unanswered(Error::Timeout(fmt::format("no answer within {} s", std::chrono::duration<double>(options.timeout).count())));
  }
  for (std::size_t n = 0; n < needs.size(); ++n) {
    AccessNeed missing = needs[n];
    missing.verbs.clear();
    for (const std::string& verb : needs[n].verbs) {
      for (std::size_t i = 0; i < questions.size(); ++i) {
        const auto& of = questions[i].for_needs;
        if (refused[i] != 0 && std::find(of.begin(), of.end(), std::pair(n, verb)) != of.end()) missing.verbs.push_back(verb);
      }
    }
    if (!missing.verbs.empty()) report.missing.push_back(std::move(missing));
  }
  return report;
}

}  // namespace kube
