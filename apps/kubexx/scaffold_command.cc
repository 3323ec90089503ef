#include "scaffold_command.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <utility>
#include <vector>

namespace kube::app {

using scaffold::FileState;
using scaffold::Planned;

void ScaffoldTarget::AddFlags(FlagSet& flags) {
  flags.Add("project-dir", &folder, "the project's folder").Value("DIR").Default("the current one");
  flags.Add("dry-run", &dry_run, "write nothing; list the files that would be written");
  flags.Add("force", &force, "overwrite existing files, edited ones too");
}

void ExternalFlags::AddFlags(FlagSet& flags) {
  flags.Group("kinds of other projects");
  flags.Add("external-api-path", &options.path, "where the kind's types are: a header in external/, or a Go package").Value("PATH");
  flags.Add("external-api-domain", &options.domain, "what the kind's group ends in, instead of the project's domain").Value("NAME");
  flags.Add("external-api-module", &options.module, "the Go module of that package, which is fetched").Value("PATH@VERSION");
}

Result<std::optional<scaffold::ExternalKind>> ExternalFlags::Find(const std::string& folder, const std::optional<std::string>& group,
                                                                  const std::string& version, const std::string& kind) const {
  if (options.path.empty()) {
    if (!options.domain.empty() || !options.module.empty())
      return Error::Invalid("--external-api-path is missing: name the types of this kind");
    return std::optional<scaffold::ExternalKind>();
  }
  Result<scaffold::ExternalKind> found = scaffold::FindExternalKind(folder, options, group.value_or(""), version, kind);
  if (!found) return found.error();
  return std::optional<scaffold::ExternalKind>(*std::move(found));
}

void ForeignFlags::Ignore(FlagSet& flags, std::string_view name, std::string_view value, std::string why) {
  FlagSet::Flag& flag = flags.Call(
      name,
      [this, flag = "--" + std::string(name), why = std::move(why)](const std::string&) -> Result<void> {
        ignored_.push_back(flag + " has no effect: " + why);
        return {};
      },
      "accepted for command lines of kubebuilder; no effect");
  if (value.empty()) {
    flag.ImpliedValue("true");
  } else {
    flag.Value(value);
  }
}

void ForeignFlags::Refuse(FlagSet& flags, std::string_view name, std::string_view value, std::string instead) {
  FlagSet::Flag& flag = flags.Call(
      name,
      [this, flag = "--" + std::string(name), instead = std::move(instead)](const std::string&) -> Result<void> {
        if (refused_.empty()) refused_ = flag + ": " + instead;
        return {};
      },
      "a flag of kubebuilder, refused with what to do instead");
  if (value.empty()) {
    flag.ImpliedValue("true");
  } else {
    flag.Value(value);
  }
}

bool ForeignFlags::Check(std::string_view who, Streams& io) const {
  if (!refused_.empty()) {
    ScaffoldUsage(io, who, refused_);
    return false;
  }
  for (const std::string& text : ignored_) io.err << who << ": " << text << '\n';
  return true;
}

bool Ask(Streams& io, std::string_view question, std::string_view fallback, const std::function<Result<void>(const std::string&)>& check,
         std::string& answer) {
  while (io.can_ask) {
    io.err << question;
    if (!fallback.empty()) io.err << " [" << fallback << "]";
    io.err << ": " << std::flush;
    if (!std::getline(io.in, answer)) return false;
    answer.erase(0, answer.find_first_not_of(" \t\r"));
    answer.erase(answer.find_last_not_of(" \t\r") + 1);
    if (answer.empty()) answer = fallback;
    const Result<void> good = check(answer);
    if (good) return true;
    io.err << good.error().message() << '\n';
  }
  return false;
}

ExitCode WriteScaffold(const ScaffoldTarget& target, const scaffold::Scaffold& made, std::string_view who, Streams& io) {
  const auto fail = [&](const Error& error) {
    io.err << who << ": " << error.message() << '\n';
    return ExitCode::kFailure;
  };
  const Result<std::vector<Planned>> plan = scaffold::PlanFiles(target.folder, made.files);
  if (!plan) return fail(plan.error());
  const auto is_users = [](const Planned& file) { return file.state == FileState::kUsers; };
  if (!target.force && std::any_of(plan->begin(), plan->end(), is_users)) {
    for (const Planned& file : *plan) {
      if (is_users(file)) io.err << file.path << ": exists\n";
    }
    io.err << who << ": nothing was written; move these files away, or overwrite them with --force\n";
    return ExitCode::kFailure;
  }
  if (!target.dry_run) {
    if (Result<void> written = scaffold::WriteFiles(target.folder, made.files); !written) return fail(written.error());
  }
  for (const Planned& file : *plan) {
    if (file.state == FileState::kSame) continue;
    const bool is_new = file.state == FileState::kNew;
    io.out << (target.dry_run ? is_new ? "would write " : "would update " : is_new ? "wrote " : "updated ") << file.path << '\n';
  }
  return ExitCode::kOk;
}

ExitCode ScaffoldUsage(Streams& io, std::string_view who, std::string_view message) {
  io.err << who << ": " << message << "\nTry '" << who << " --help'.\n";
  return ExitCode::kUsage;
}

}  // namespace kube::app
