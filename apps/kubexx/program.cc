// Finds the requested command and prints help.
#include <algorithm>
#include <ostream>

#include "command.h"
#include "config/suggest.h"

namespace kube::app {
namespace {

void PrintCommandHelp(Command& command, std::ostream& out) {
  CommandInfo info = command.info();
  FlagSet flags;
  command.AddFlags(flags);
  out << info.summary << ".\n\nUsage:\n  kubexx " << info.name << " [flags]";
  if (!info.arguments.empty()) out << ' ' << info.arguments;
  out << '\n';
  if (!info.description.empty()) out << '\n' << info.description << '\n';
  out << "\nFlags:\n" << flags.FlagLines();
  if (!info.examples.empty()) out << "\nExamples:\n" << info.examples << '\n';
}

void PrintHelp(const std::vector<std::unique_ptr<Command>>& commands, std::ostream& out) {
  out << "kubexx creates controller projects, works with Kubernetes objects and runs API servers for tests; no cluster "
         "needed.\n\nUsage:\n  kubexx COMMAND "
         "[flags] "
         "[arguments]\n\nCommands:\n";
  std::size_t width = 4;
  for (const auto& command : commands) width = std::max(width, command->info().name.size());
  auto line = [&](std::string_view name, std::string_view summary) {
    out << "  " << name << std::string(width + 2 - name.size(), ' ') << summary << '\n';
  };
  for (const auto& command : commands) line(command->info().name, command->info().summary);
  line("help", "Explains a command: kubexx help COMMAND");
  out << "\nExit code: 0 success, 1 failure (or differences found), 2 invalid command line.\n";
}

ExitCode Usage(Streams& io, std::string_view who, std::string_view message) {
  io.err << who << ": " << message << "\nTry '" << who << " --help'.\n";
  return ExitCode::kUsage;
}

Command* Find(const std::vector<std::unique_ptr<Command>>& commands, std::string_view name) {
  auto found = std::find_if(commands.begin(), commands.end(), [&](const auto& c) { return c->info().name == name; });
  return found == commands.end() ? nullptr : found->get();
}

// Finds a command of two words, and removes the second one from `rest`, or `name`.
Command* Find(const std::vector<std::unique_ptr<Command>>& commands, std::string& name, std::vector<std::string>& rest) {
  Command* const single = Find(commands, name);
  if (rest.empty() || rest[0].starts_with('-')) return single;
  const std::string both = name + " " + rest[0];
  Command* const command = Find(commands, both);
  if (single != nullptr && command == nullptr) return single;
  const bool has_more =
      std::any_of(commands.begin(), commands.end(), [&](const auto& c) { return c->info().name.starts_with(name + " "); });
  if (command != nullptr || has_more) {
    name = both;
    rest.erase(rest.begin());
  }
  return command;
}

ExitCode UnknownCommand(Streams& io, const std::vector<std::unique_ptr<Command>>& commands, const std::string& name) {
  if (name == "edit") {
    return Usage(io, "kubexx",
                 "kubexx edit: there is nothing to edit: groups have folders of their own without --multigroup, --namespace of the program "
                 "narrows its "
                 "roles (kubebuilder's --namespaced), and there are no plugins");
  }
  std::vector<std::string_view> names = {"help"};
  for (const auto& command : commands) names.push_back(command->info().name);
  std::string message = "unknown command \"" + name + '"';
  if (std::string_view s = internal::Suggest(name, names); !s.empty()) message += " (did you mean " + std::string(s) + "?)";
  return Usage(io, "kubexx", message);
}

ExitCode RunCommand(Command& command, const std::vector<std::string>& args, Streams& io) {
  CommandInfo info = command.info();
  std::string who = "kubexx " + std::string(info.name);
  FlagSet flags;
  command.AddFlags(flags);
  std::vector<std::string> rest;
  if (!info.arguments.empty()) flags.Arguments(info.arguments, &rest);
  flags.Interspersed();
  if (Result<void> parsed = flags.Parse(args); !parsed) {
    if (!IsHelpRequested(parsed.error())) return Usage(io, who, parsed.error().message());
    PrintCommandHelp(command, io.out);
    return ExitCode::kOk;
  }
  return command.Run(rest, io);
}

}  // namespace

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeInitCommand());
  commands.push_back(MakeCreateApiCommand());
  commands.push_back(MakeCreateWebhookCommand());
  commands.push_back(MakeConvertCommand());
  commands.push_back(MakeGenerateCommand());
  commands.push_back(MakeGenerateTypesCommand());
  commands.push_back(MakeCrdCompatCommand());
  commands.push_back(MakeCrdValidateCommand());
  commands.push_back(MakeMigrateStorageCommand());
  commands.push_back(MakeApiServerCommand());
  commands.push_back(MakeControlPlaneCommand());
  commands.push_back(MakeVersionCommand());
  return commands;
}

ExitCode RunProgram(const std::vector<std::string>& args, Streams& io) {
  std::vector<std::unique_ptr<Command>> commands = MakeCommands();
  if (args.empty()) {
    PrintHelp(commands, io.err);
    return ExitCode::kUsage;
  }
  std::string name = args[0];
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (name == "--version") return RunCommand(*Find(commands, "version"), rest, io);
  if (name == "help" || name == "--help" || name == "-h") {
    if (rest.empty() || rest[0] == "--help" || rest[0] == "-h") {
      PrintHelp(commands, io.out);
      return ExitCode::kOk;
    }
    std::string which = rest[0];
    std::vector<std::string> more(rest.begin() + 1, rest.end());
    Command* command = Find(commands, which, more);
    if (command == nullptr) return UnknownCommand(io, commands, which);
    PrintCommandHelp(*command, io.out);
    return ExitCode::kOk;
  }
  if (name[0] == '-') return Usage(io, "kubexx", "unknown flag " + name + "; flags follow the command");
  Command* command = Find(commands, name, rest);
  if (command == nullptr) return UnknownCommand(io, commands, name);
  return RunCommand(*command, rest, io);
}

}  // namespace kube::app
