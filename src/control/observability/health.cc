#include "control/observability/health.h"

#include <fmt/format.h>

#include <set>

namespace kube::internal {
namespace {

serve::HttpResponse Text(int status, std::string body) {
  return {.status = status,
          .headers = {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}},
          .body = std::move(body)};
}

Result<void> RunCheck(const HealthCheck& check) {
  try {
    return check();
  } catch (const std::exception& e) {
    return Error::Internal(fmt::format("the check threw an exception: {}", e.what()));
  } catch (...) {
    return Error::Internal("the check threw something that is not a std::exception");
  }
}

}  // namespace

void HealthChecks::Add(std::string name, HealthCheck check, Note note) {
  MutexLock lock(mu_);
  checks_.insert_or_assign(std::move(name), Named{std::move(check), std::move(note)});
}

serve::HttpResponse HealthChecks::Answer(std::string_view path, std::string_view query) const {
  std::map<std::string, Named, std::less<>> checks;
  {
    MutexLock lock(mu_);
    checks = checks_;
  }
  if (path != root_) {
    const std::string_view name = path.substr(root_.size() + 1);
    const auto found = checks.find(name);
    if (found == checks.end()) return Text(404, fmt::format("there is no check \"{}\"\n", name));
    const Result<void> result = RunCheck(found->second.check);
    return result ? Text(200, "ok") : Text(500, fmt::format("{}\n", result.error().ToString()));
  }
  bool verbose = false;
  std::set<std::string, std::less<>> excluded;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part == "verbose" || part.starts_with("verbose=")) verbose = true;
    if (part.starts_with("exclude=")) excluded.emplace(part.substr(8));
  }
  bool failed = false;
  std::string lines;
  for (const auto& [name, check] : checks) {
    if (excluded.erase(name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", name);
      continue;
    }
    const Result<void> result = RunCheck(check.check);
    failed = failed || !result;
    const std::string note = result && verbose && check.note ? check.note() : std::string();
    lines += result ? fmt::format("[+]{} ok{}{}\n", name, note.empty() ? "" : ": ", note)
                    : fmt::format("[-]{} failed: {}\n", name, result.error().ToString());
  }
  for (const std::string& name : excluded) lines += fmt::format("warn: there is no check \"{}\" to exclude\n", name);
  const std::string what = root_.substr(1);
  if (failed) return Text(500, fmt::format("{}{} check failed\n", lines, what));
  return verbose ? Text(200, fmt::format("{}{} check passed\n", lines, what)) : Text(200, "ok");
}

}  // namespace kube::internal
