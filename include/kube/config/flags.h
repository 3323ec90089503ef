// FlagSet: typed command-line flags, bound to variables.
//
//   std::string text = "Hello";
//   int workers = 4;
//   FlagSet flags("greeter");
//   flags.Add("text", &text, "what the ConfigMap says");
//   flags.Add("workers", &workers, "namespaces to reconcile at once").Range(1, 100);
//   if (Result<void> parsed = flags.Parse(argc, argv); !parsed) return flags.Fail(parsed.error());   // also for --help and --version
//
// Each flag can also be set by an environment variable (GREETER_WORKERS) and in a YAML file (`--config FILE`, with `workers: 8`). The
// command line wins over the environment, the environment over the file, and the file over the variable's initial value.
//
// Syntax: --text=x, --text x, and with one dash -text=x, -text x, as in Go; -n x, -n=x and -nx for letters. A bool needs no value: --loud,
// --loud=false. `--` ends the flags. An unknown flag is an error that suggests the closest known one. A positional argument is an error
// unless `Arguments` declares it; the first one ends the flags, so the arguments of a subcommand stay intact.
//
// Controllers use ManagerFlags and command-line programs ConfigFlags: FlagSets that also have the library's own flags.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"

namespace kube {

// True for the error that Parse returns for --help and --version. Its message is the text to print.
KUBE_EXPORT bool IsHelpRequested(const Error& e);
// True if the command line, the environment or the config file is invalid. Programs exit with 2.
KUBE_EXPORT bool IsUsageError(const Error& e);
// Creates such an error: `return UsageError("--from and --to exclude each other");`
KUBE_EXPORT Error UsageError(std::string message);

namespace internal {

struct FlagReader;

// Parses all values that one source has for a flag, without side effects. The returned function sets the variable.
using FlagStage = std::function<Result<std::function<void()>>(const std::vector<std::string>& values)>;

struct FlagSpec {
  std::string name, value, help, group, default_text;
  std::vector<std::string> aliases, choices;
  char letter = '\0';
  bool list = false, whole = false, text = false, required = false, secret = false;
  bool in_environment = true, in_file = true;
  std::optional<std::string> implied;
  std::optional<std::pair<double, double>> range;
  std::function<Result<void>(const std::string&)> check;
  FlagStage stage;
};

// Their errors are the text after "--flag: ".
KUBE_EXPORT Result<bool> ReadFlagBool(const std::string& text);
KUBE_EXPORT Result<std::int64_t> ReadFlagInteger(const std::string& text, std::int64_t least, std::int64_t most);
KUBE_EXPORT Result<double> ReadFlagDouble(const std::string& text);
KUBE_EXPORT Result<std::chrono::nanoseconds> ReadFlagDuration(const std::string& text);
KUBE_EXPORT std::string ShowFlag(double value);
KUBE_EXPORT std::string ShowFlag(std::chrono::nanoseconds value);

template <typename T>
struct FlagType;  // how values of the type are parsed, and shown in the help

template <>
struct FlagType<bool> {
  static constexpr std::string_view kValue = "";
  static Result<bool> Read(const std::string& text) { return ReadFlagBool(text); }
  static std::string Show(bool value) { return value ? "true" : ""; }
};
template <std::integral T>
struct FlagType<T> {
  static constexpr std::string_view kValue = "N";
  static Result<T> Read(const std::string& text) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    constexpr auto kMostOfT = std::numeric_limits<T>::max();
    const Result<std::int64_t> value = ReadFlagInteger(
        text, std::is_signed_v<T> ? static_cast<std::int64_t>(std::numeric_limits<T>::min()) : 0,
        static_cast<std::uint64_t>(kMostOfT) > static_cast<std::uint64_t>(kMost) ? kMost : static_cast<std::int64_t>(kMostOfT));
    if (!value) return value.error();
    return static_cast<T>(*value);
  }
  static std::string Show(T value) { return value == 0 ? "" : std::to_string(value); }
};
template <>
struct FlagType<double> {
  static constexpr std::string_view kValue = "N";
  static Result<double> Read(const std::string& text) { return ReadFlagDouble(text); }
  static std::string Show(double value) { return ShowFlag(value); }
};
template <>
struct FlagType<std::string> {
  static constexpr std::string_view kValue = "TEXT";
  static Result<std::string> Read(const std::string& text) { return text; }
  static std::string Show(const std::string& value) { return value; }
};
template <typename Rep, typename Period>
struct FlagType<std::chrono::duration<Rep, Period>> {
  static constexpr std::string_view kValue = "TIME";
  static Result<std::chrono::duration<Rep, Period>> Read(const std::string& text) {
    const Result<std::chrono::nanoseconds> value = ReadFlagDuration(text);
    if (!value) return value.error();
    const auto out = std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(*value);
    const auto back = std::chrono::duration<long double, std::nano>(out) - std::chrono::duration<long double, std::nano>(*value);
    if (back > std::chrono::nanoseconds(1) || back < std::chrono::nanoseconds(-1)) {
      return Error::Invalid("expected a multiple of " +
                            ShowFlag(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<std::int64_t, Period>(1))) +
                            " in the range of the flag");
    }
    return out;
  }
  static std::string Show(std::chrono::duration<Rep, Period> value) { return ShowFlag(std::chrono::nanoseconds(value)); }
};
template <typename T>
struct FlagType<std::optional<T>> {
  static constexpr std::string_view kValue = FlagType<T>::kValue;
  static Result<std::optional<T>> Read(const std::string& text) {
    Result<T> value = FlagType<T>::Read(text);
    if (!value) return value.error();
    return std::optional<T>(*std::move(value));
  }
  static std::string Show(const std::optional<T>& value) { return value ? FlagType<T>::Show(*value) : ""; }
};

template <typename T>
inline constexpr bool kFlagNeedsNoValue = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>;

}  // namespace internal

// The flags of a program.
//
// Thread safety: none.
// Lifetime: a plain object. Copies set the same variables, which must outlive each Parse.
// Blocking: Parse reads the config file.
// Cost: meant for program start.
class KUBE_EXPORT FlagSet {
 public:
  // One flag, to refine it: `flags.Add("output", &output, "how to print").Letter('o').OneOf({"text", "json"});`
  class KUBE_EXPORT Flag {
   public:
    // Adds a one-letter form: -o.
    Flag& Letter(char letter);
    // Adds another name, which the help does not show.
    Flag& Alias(std::string_view name);
    // The placeholder for the value in the help: FILE.
    Flag& Value(std::string_view name);
    // The default shown in the help instead of the variable's value; empty: none.
    Flag& Default(std::string_view text);
    // Limits a number to this range.
    Flag& Range(double least, double most);
    // Limits the value to `choices`.
    Flag& OneOf(std::vector<std::string> choices);
    // Called with each value before any variable is set. Its error rejects the value.
    Flag& Check(std::function<Result<void>(const std::string& value)> check);
    // The value if the flag is given without one. An explicit value then needs "=": --print-rbac[=NAMESPACE/NAME].
    Flag& ImpliedValue(std::string_view value);
    // For lists: commas do not separate values.
    Flag& Whole();
    // Parse fails if the flag is not set by any source.
    Flag& Required();
    // Hides the value and the default in messages and the help.
    Flag& Secret();
    // Disables the environment variable, because its name would have another common meaning (GITHUB_TOKEN).
    Flag& NotInEnvironment();

   private:
    friend class FlagSet;
    friend struct internal::FlagReader;

    internal::FlagSpec spec_;
  };

  // Without a name there are no environment variables, no --config and no --version. For the subcommands of a larger program.
  FlagSet() = default;
  // `program` is the name in messages and the prefix of the environment variables.
  explicit FlagSet(std::string program);

  // Supports bool, integers, double, std::string, std::chrono durations ("1h30m"), std::optional of these, and std::vector<std::string>. A
  // list may be given several times or with commas; it replaces the variable's value.
  template <typename T>
  requires std::is_object_v<T> Flag& Add(std::string_view name, T* target, std::string_view help) {
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return AddList(name, target, help);
    } else {
      Flag& flag = Add(name, target, &internal::FlagType<T>::Read, help);
      flag.Value(internal::FlagType<T>::kValue).Default(internal::FlagType<T>::Show(*target));
      if constexpr (internal::kFlagNeedsNoValue<T>) flag.ImpliedValue("true");
      if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>) flag.spec_.text = true;
      return flag;
    }
  }
  // For enums and other types. `read` is callable as Result<T>(const std::string&). Its error is the text after "--flag: ".
  template <typename T, typename Read>
  requires std::is_invocable_r_v < Result<T>, Read,
  const std::string& > Flag& Add(std::string_view name, T* target, Read read, std::string_view help) {
    return AddStaged(name, help, [target, read = std::move(read)](const auto& values) -> Result<std::function<void()>> {
      std::optional<T> last;
      for (const std::string& value : values) {
        Result<T> one = read(value);
        if (!one) return one.error();
        last = *std::move(one);
      }
      return std::function<void()>([target, last = std::move(last)] { *target = *last; });
    });
  }
  // Calls `set` with each value, in the order of the command line. An error in a later flag does not undo the call.
  Flag& Call(std::string_view name, std::function<Result<void>(const std::string& value)> set, std::string_view help);

  // Starts a section of the help for the flags that follow.
  void Group(std::string_view heading);
  // The description of the program, which the help shows below its first line.
  void About(std::string_view text);
  // Replaces the first line of the help, "usage: NAME [flags]".
  void Usage(std::string_view text);
  // The version that --version prints after the program name. Default: the version of kubexx.
  void Version(std::string_view version);
  // Declares positional arguments, as the usage shows them: "POD [COMMAND...]" takes one or more. The first one ends the flags.
  void Arguments(std::string_view usage, std::vector<std::string>* rest);
  // Allows flags after positional arguments.
  void Interspersed();
  // Replaces the process's environment by `variables`, each "NAME=value".
  void SetEnvironment(std::vector<std::string> variables);

  // Sets all variables, or none on an error. Errors: IsHelpRequested, IsUsageError; kInternal if two flags have the same name.
  Result<void> Parse(int argc, const char* const* argv);
  Result<void> Parse(const std::vector<std::string>& arguments) const;

  // The lines that describe the flags.
  std::string FlagLines() const;
  std::string Help() const;  // the whole text of --help
  // Prints the message of `error` and returns the exit code: 0 (on standard output) for IsHelpRequested, 2 for IsUsageError, else 1.
  int Fail(const Error& error) const;

  // The program name.
  const std::string& program() const { return program_; }
  // The environment variables of all flags.
  std::vector<std::string> Variables() const;

 protected:
  // Sets the program name unless there is one, and returns the arguments after it.
  std::vector<std::string> Start(int argc, const char* const* argv);
  // Calls `body` and turns its error or exception into a message and an exit code. A failed write to standard output is an error.
  int Finish(const std::function<Result<int>()>& body) const;
  bool has_environment() const { return environment_.has_value(); }

 private:
  friend struct internal::FlagReader;

  Flag& AddStaged(std::string_view name, std::string_view help, internal::FlagStage stage);
  Flag& AddList(std::string_view name, std::vector<std::string>* target, std::string_view help);
  // All flags with --help, --version and --config, unless the program has flags of these names.
  std::deque<Flag> AllFlags() const;
  std::string VariableOf(const Flag& flag) const;

  std::string program_, group_, about_, usage_, version_, arguments_;
  std::vector<std::string>* rest_ = nullptr;
  bool interspersed_ = false;
  std::optional<std::vector<std::string>> environment_;
  std::deque<Flag> flags_;
};

}  // namespace kube
