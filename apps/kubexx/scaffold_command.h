// The common part of the scaffolding commands: the target directory, questions and reports.
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

// --external-api-path and its companion flags.
struct ExternalFlags {
  scaffold::ExternalOptions options;

  void AddFlags(FlagSet& flags);
  // Unset without --external-api-path. Errors: those of FindExternalKind.
  Result<std::optional<scaffold::ExternalKind>> Find(const std::string& folder, const std::optional<std::string>& group,
                                                     const std::string& version, const std::string& kind) const;
};

// kubebuilder flags without a function here. They are accepted, and a message says why they have no effect; a flag that would change the
// meaning of the command line is refused, and the message names the alternative.
class ForeignFlags {
 public:
  // `value` is shown in the help; empty for a flag without a value. `why` follows "has no effect: ".
  void Ignore(FlagSet& flags, std::string_view name, std::string_view value, std::string why);
  void Refuse(FlagSet& flags, std::string_view name, std::string_view value, std::string instead);
  // Prints the flags without effect. Returns false after the message about a refused flag.
  bool Check(std::string_view who, Streams& io) const;

 private:
  std::vector<std::string> ignored_;
  std::string refused_;
};

// Asks until `check` accepts the answer. An empty answer means `fallback`. Returns false without a terminal or an answer.
bool Ask(Streams& io, std::string_view question, std::string_view fallback, const std::function<Result<void>(const std::string&)>& check,
         std::string& answer);

// Writes the files, or with --dry-run prints their names. `who` is the command: "kubexx init".
ExitCode WriteScaffold(const ScaffoldTarget& target, const scaffold::Scaffold& made, std::string_view who, Streams& io);

ExitCode ScaffoldUsage(Streams& io, std::string_view who, std::string_view message);

}  // namespace kube::app
