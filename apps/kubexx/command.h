// The frame of the `kubexx` program: commands, their flags, help and exit codes.
//
//   class Hello final : public Command {
//     CommandInfo info() const override { return {.name = "hello", .arguments = "NAME", .summary = "Greets", .least = 1, .most = 1}; }
//     void AddFlags(FlagSet& flags) override { flags.Bool(&loud_, "loud", 'l', "in capitals"); }
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

namespace kube::app {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,  // bad input, or differences where the command looks for them
  kUsage = 2,    // the command line makes no sense
};

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
};

// The flags of one command. Accepts --name value, --name=value, -n value, -nvalue, and for switches --name, --name=false, -n.
// `--` ends the flags; `-` alone is an argument.
class FlagSet {
 public:
  void Bool(bool* target, std::string_view name, char letter, std::string_view help);
  // `value_name` stands for the value in the help: FILE. Where it lists choices, json|yaml, others are refused.
  void Text(std::string* target, std::string_view name, char letter, std::string_view value_name, std::string_view help);
  // May be given several times; each adds one.
  void Texts(std::vector<std::string>* target, std::string_view name, char letter, std::string_view value_name, std::string_view help);

  // Sets the targets and returns the arguments that are no flags.
  Result<std::vector<std::string>> Parse(const std::vector<std::string>& args) const;
  // One line or more per flag.
  std::string Help() const;

 private:
  struct Flag {
    std::string_view name;
    char letter;  // NUL where there is none
    std::string_view value_name;
    std::string_view help;
    bool* boolean;
    std::string* text;
    std::vector<std::string>* texts;
  };
  std::vector<Flag> flags_;

  Result<const Flag*> Find(std::string_view name) const;
  static Result<void> Set(const Flag& flag, std::string_view spelled, std::string_view value);
};

struct CommandInfo {
  std::string_view name;
  std::string_view arguments;    // as the usage line shows them: "FILE"
  std::string_view summary;      // one line
  std::string_view description;  // paragraphs, broken at 100 columns
  std::string_view examples;     // lines
  std::size_t least = 0;         // how many arguments it takes
  std::size_t most = 0;
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
std::unique_ptr<Command> MakeVersionCommand();

// All commands, in the order in which the help shows them.
std::vector<std::unique_ptr<Command>> MakeCommands();

// The whole program. `args`: without the program's own name.
ExitCode RunProgram(const std::vector<std::string>& args, Streams& io);

// Of the candidates the one that `word` was probably meant to be; empty where none is close.
std::string_view Suggest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace kube::app
