// FlagSet: the flags of a program, typed and bound to its variables.
//
//   std::string text = "Hello";
//   int workers = 4;
//   FlagSet flags("greeter");
//   flags.Add("text", &text, "what the ConfigMap says");
//   flags.Add("workers", &workers, "namespaces to reconcile at once").Range(1, 100);
//   if (Result<void> parsed = flags.Parse(argc, argv); !parsed) return flags.Fail(parsed.error());   // --help and --version, too
//
// Each flag can also be set by an environment variable (GREETER_WORKERS) and in a YAML file (`--config FILE`, with `workers: 8`). The
// command line wins over the environment, the environment over the file, the file over the variable's own value.
//
// Spellings: --text=x, --text x, and with one dash -text=x, -text x, as Go programs take them; -n x, -n=x and -nx for letters. A bool
// needs no value: --loud, --loud=false. `--` ends the flags. Unknown flags are errors that name the closest known one. Arguments that are
// no flags are errors unless `Arguments` declares them; the first one ends the flags, so the arguments of a subcommand stay whole.
//
// Controllers use ManagerFlags and command line programs ConfigFlags: these are FlagSets that also have our flags.
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

// What Parse returns instead of success for --help and --version. The message is the text to print.
KUBE_EXPORT bool IsHelpRequested(const Error& e);
// The command line, the environment or the config file is wrong. Programs exit with 2.
KUBE_EXPORT bool IsUsageError(const Error& e);
// Such an error of the program's own: `return UsageError("--from and --to exclude each other");`
KUBE_EXPORT Error UsageError(std::string message);

namespace internal {

struct FlagReader;

// Reads all values that one source has for a flag, without an effect; what it returns sets the variable.
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

// Errors are the part behind "--flag: ".
KUBE_EXPORT Result<bool> ReadFlagBool(const std::string& text);
KUBE_EXPORT Result<std::int64_t> ReadFlagInteger(const std::string& text, std::int64_t least, std::int64_t most);
KUBE_EXPORT Result<double> ReadFlagDouble(const std::string& text);
KUBE_EXPORT Result<std::chrono::nanoseconds> ReadFlagDuration(const std::string& text);
KUBE_EXPORT std::string ShowFlag(double value);
KUBE_EXPORT std::string ShowFlag(std::chrono::nanoseconds value);

template <typename T>
struct FlagType;  // the type of a flag: which values it has and how the help shows them

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

// Thread safety: none. Lifetime: a plain object; copies set the same variables, which have to outlive each Parse.
// Blocking: Parse reads the config file. Cost: for the start of a program.
class KUBE_EXPORT FlagSet {
 public:
  // One flag, to say more about it: `flags.Add("output", &output, "how to print").Letter('o').OneOf({"text", "json"});`
  class KUBE_EXPORT Flag {
   public:
    // Also as -o.
    Flag& Letter(char letter);
    // Also under this name, which the help does not show.
    Flag& Alias(std::string_view name);
    // Stands for the value in the help: FILE.
    Flag& Value(std::string_view name);
    // What the help calls the default, instead of the variable's value; empty: nothing.
    Flag& Default(std::string_view text);
    // For numbers.
    Flag& Range(double least, double most);
    Flag& OneOf(std::vector<std::string> choices);
    // Called with each value before any variable is set.
    Flag& Check(std::function<Result<void>(const std::string& value)> check);
    // Without a value it has this one; a value needs "=": --print-rbac[=NAMESPACE/NAME].
    Flag& ImpliedValue(std::string_view value);
    // For lists: commas in a value separate nothing.
    Flag& Whole();
    Flag& Required();
    // Messages and the help show neither its value nor its default.
    Flag& Secret();
    // Has no environment variable: its name would be one that means something else to many (GITHUB_TOKEN).
    Flag& NotInEnvironment();

   private:
    friend class FlagSet;
    friend struct internal::FlagReader;

    internal::FlagSpec spec_;
  };

  // Without a name there are no environment variables, no --config and no --version: for the commands of a larger program.
  FlagSet() = default;
  // The program's name: of messages, and of the environment variables.
  explicit FlagSet(std::string program);

  // bool, integers, double, std::string, std::chrono durations ("1h30m"), std::optional of these, and std::vector<std::string>, which may
  // be given several times or with commas and replaces what the variable had.
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
  // Enums and other types: `read` is a Result<T>(const std::string&). Its error is the part behind "--flag: ".
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

  // A heading of the help for the flags that follow.
  void Group(std::string_view heading);
  // What the help says below its first line: what the program does.
  void About(std::string_view text);
  // Replaces the help's first line, "usage: NAME [flags]".
  void Usage(std::string_view text);
  // What --version prints behind the program's name; default: kubexx' version.
  void Version(std::string_view version);
  // Arguments that are no flags, as the usage shows them: "POD [COMMAND...]" takes one or more. The first one ends the flags.
  void Arguments(std::string_view usage, std::vector<std::string>* rest);
  // Flags may stand behind arguments, too.
  void Interspersed();
  // "NAME=value" each, instead of the process's environment.
  void SetEnvironment(std::vector<std::string> variables);

  // Sets the variables, or none of them. Errors: IsHelpRequested, IsUsageError; kInternal if two flags have the same name.
  Result<void> Parse(int argc, const char* const* argv);
  Result<void> Parse(const std::vector<std::string>& arguments) const;

  // The lines of the flags, and the whole text of --help.
  std::string FlagLines() const;
  std::string Help() const;
  // Prints what the error says, and returns the exit code: 0 and standard output for IsHelpRequested, 2 for
  // IsUsageError, else 1.
  int Fail(const Error& error) const;

  const std::string& program() const { return program_; }
  // The environment variable of each flag.
  std::vector<std::string> Variables() const;

 protected:
  // Takes the program's name unless there is one, and returns the arguments behind it.
  std::vector<std::string> Start(int argc, const char* const* argv);
  // Calls `body` and turns its error, or what it throws, into a message and an exit code. Standard output that cannot be written is a
  // failure.
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
