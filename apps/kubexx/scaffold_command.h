// What the commands that scaffold have in common: where they write, what they ask, how they report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "scaffold/scaffold.h"

namespace kube::app {

struct ScaffoldTarget {
  std::string folder = ".";
  bool dry_run = false;
  bool force = false;

  void AddFlags(FlagSet& flags);
};

// --external-api-path and what belongs to it.
struct ExternalFlags {
  scaffold::ExternalOptions options;

  void AddFlags(FlagSet& flags);
  // Nothing without --external-api-path. Errors: those of FindExternalKind.
  Result<std::optional<scaffold::ExternalKind>> Find(const std::string& folder, const std::optional<std::string>& group,
                                                     const std::string& version, const std::string& kind) const;
};

// Flags of kubebuilder that do nothing here. A command line that has them works, and a line says why they have no effect, or what to use
// instead of one without which it makes no sense.
class ForeignFlags {
 public:
  // `value`: as in the help; empty for a flag that needs none. `why`: "has no effect: " in front.
  void Ignore(FlagSet& flags, std::string_view name, std::string_view value, std::string why);
  void Refuse(FlagSet& flags, std::string_view name, std::string_view value, std::string instead);
  // Prints what has no effect. False after the message about a flag that is refused.
  bool Check(std::string_view who, Streams& io) const;

 private:
  std::vector<std::string> ignored_;
  std::string refused_;
};

// Asks until `check` accepts the answer; an empty answer is `fallback`. False without a terminal or an answer.
bool Ask(Streams& io, std::string_view question, std::string_view fallback, const std::function<Result<void>(const std::string&)>& check,
         std::string& answer);

// Writes the files, or says with --dry-run which ones. `who` is the command: "kubexx init".
ExitCode WriteScaffold(const ScaffoldTarget& target, const scaffold::Scaffold& made, std::string_view who, Streams& io);

ExitCode ScaffoldUsage(Streams& io, std::string_view who, std::string_view message);

}  // namespace kube::app
