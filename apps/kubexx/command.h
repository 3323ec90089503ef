// The frame of the `kubexx` program: commands, their flags, help and exit codes.
//
//   class Hello final : public Command {
//     CommandInfo info() const override { return {.name = "hello", .arguments = "NAME", .summary = "Greets"}; }
//     void AddFlags(FlagSet& flags) override { flags.Add("loud", &loud_, "in capitals").Letter('l'); }
//     ExitCode Run(const std::vector<std::string>& args, Streams& io) override { ... }
//   };
//
// A command object is used for one run. It writes to the streams that it is given and never ends the process, so tests can call it.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/config/flags.h"

namespace kube::app {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,  // bad input, or differences in a command that compares
  kUsage = 2,    // invalid command line
};

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool can_ask = false;  // a person reads `err` and answers on `in`
};

struct CommandInfo {
  std::string_view name;         // one word, or two: "crd compat"
  std::string_view arguments;    // as the usage line shows them: "FILE"; see FlagSet::Arguments
  std::string_view summary;      // one line
  std::string_view description;  // paragraphs, broken at 100 columns
  std::string_view examples;     // lines
};

class Command {
 public:
  virtual ~Command() = default;
  virtual CommandInfo info() const = 0;
  virtual void AddFlags(FlagSet& flags) = 0;
  virtual ExitCode Run(const std::vector<std::string>& args, Streams& io) = 0;
};

std::unique_ptr<Command> MakeApiServerCommand();
std::unique_ptr<Command> MakeControlPlaneCommand();
std::unique_ptr<Command> MakeConvertCommand();
std::unique_ptr<Command> MakeCrdCompatCommand();
std::unique_ptr<Command> MakeCrdValidateCommand();
std::unique_ptr<Command> MakeCreateApiCommand();
std::unique_ptr<Command> MakeCreateWebhookCommand();
std::unique_ptr<Command> MakeMigrateStorageCommand();
std::unique_ptr<Command> MakeGenerateCommand();
std::unique_ptr<Command> MakeGenerateTypesCommand();
std::unique_ptr<Command> MakeInitCommand();
std::unique_ptr<Command> MakeVersionCommand();

// All commands, in the order in which the help shows them.
std::vector<std::unique_ptr<Command>> MakeCommands();

// The whole program. `args`: without the program's own name.
ExitCode RunProgram(const std::vector<std::string>& args, Streams& io);

}  // namespace kube::app
