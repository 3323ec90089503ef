// FlagSet::Parse. Three sources, of which the best one that has a flag decides: the command line, the environment, the config file. All
// values are read before the first variable is set.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "codec/yaml_lines.h"
#include "config/files.h"
#include "config/flags_internal.h"
#include "config/suggest.h"
#include "config/text.h"
#include "kube/version.h"

namespace kube {
namespace internal {
namespace {

// Formats a number, without an exponent if it is a small integer.
std::string Plain(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates, std::string_view dashes) {
  const std::string_view close = Suggest(word, candidates);
  return close.empty() ? "" : " (did you mean " + std::string(close.size() == 1 ? "-" : dashes) + std::string(close) + "?)";
}

// "POD [COMMAND...]": one or more.
std::pair<std::size_t, std::size_t> CountOf(std::string_view usage) {
  std::size_t least = 0, most = 0;
  bool endless = false;
  for (std::size_t at = 0; at < usage.size();) {
    const std::size_t end = std::min(usage.find(' ', at), usage.size());
    const std::string_view word = usage.substr(at, end - at);
    at = end + 1;
    if (word.empty() || word == "--") continue;
    endless = endless || word.find("...") != std::string_view::npos;
    ++most;
    if (word.front() != '[') ++least;
  }
  return {least, endless ? std::numeric_limits<std::size_t>::max() : most};
}

// The reader's messages repeat pieces of the file, which may hold a secret.
std::string WithoutQuotes(std::string message) {
  const std::size_t first = message.find('"'), last = message.rfind('"');
  if (first != last) message.replace(first, last - first + 1, "the value");
  return message;
}

// Kubernetes gives each pod variables for the Services of its namespace, which others may create: of a Service "greeter"
// GREETER_PORT=tcp://10.0.0.1:80, GREETER_SERVICE_HOST, GREETER_SERVICE_PORT, GREETER_SERVICE_PORT_HTTP, GREETER_PORT_80_TCP_ADDR. None of
// them is meant for a flag.
bool IsServiceLink(const std::string& name, const std::map<std::string, std::string>& variables) {
  const auto is_service = [&](const std::string& service) {
    const auto port = variables.find(service + "_PORT");
    if (port == variables.end()) return false;
    const std::string_view value = port->second;
    return value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
  };
  for (const std::string_view end : {"_PORT", "_SERVICE_HOST", "_SERVICE_PORT"}) {
    if (name.ends_with(end) && is_service(name.substr(0, name.size() - end.size()))) return true;
  }
  for (const std::string_view inside : {"_SERVICE_PORT_", "_PORT_"}) {
    if (const std::size_t at = name.find(inside); at != std::string::npos && is_service(name.substr(0, at))) return true;
  }
  return false;
}

}  // namespace

struct FlagReader {
  using Flag = FlagSet::Flag;

  // The values that a source has for a flag, and how messages call it there.
  struct Given {
    const FlagSpec* flag = nullptr;
    std::string where{};
    std::vector<std::string> values{};
    bool apart = false;  // a YAML list: a comma is part of its value
  };

  explicit FlagReader(const FlagSet& the_set) : set(the_set), flags(the_set.AllFlags()) {}

  const FlagSet& set;
  const std::deque<Flag> flags;
  std::vector<Given> command_line{}, environment{}, file{};
  std::vector<std::string> rest{};
  std::string config_file{};
  bool help = false, version = false;

  Result<void> Run(const std::vector<std::string>& arguments) {
    if (Result<void> good = CheckNames(); !good) return good;
    Result<void> scanned = Scan(arguments);
    if (help) return HelpText(set.Help());
    if (!scanned) return scanned;
    if (version) {
      const std::string text = set.version_.empty() ? "(kubexx " KUBE_VERSION_STRING ")" : set.version_;
      return HelpText(set.program_ + " " + text + "\n");
    }
    if (!set.program_.empty()) {
      if (Result<void> read = ReadEnvironment(); !read) return read;
      if (Result<void> read = ReadConfigFile(); !read) return read;
    }
    return Take();
  }

  // ---- Finding flags ----

  Result<void> CheckNames() const {
    std::set<std::string> seen;
    for (const Flag& flag : flags) {
      const FlagSpec& spec = flag.spec_;
      std::vector<std::string> names = spec.aliases;
      names.push_back(spec.name);
      if (spec.letter != '\0') names.emplace_back(1, spec.letter);
      for (const std::string& name : names) {
        if (!seen.insert(name).second) return Error::Internal("the flag " + SpelledFlag(spec) + " is declared twice");
      }
    }
    return {};
  }

  const FlagSpec* Named(std::string_view name) const {
    for (const Flag& flag : flags) {
      const FlagSpec& spec = flag.spec_;
      if (spec.name == name || std::find(spec.aliases.begin(), spec.aliases.end(), name) != spec.aliases.end()) return &spec;
    }
    return nullptr;
  }
  const FlagSpec* Lettered(char letter) const {
    for (const Flag& flag : flags) {
      if (flag.spec_.letter == letter || flag.spec_.name == std::string_view(&letter, 1)) return &flag.spec_;
    }
    return nullptr;
  }

  std::vector<std::string_view> LongNames() const {
    std::vector<std::string_view> names;
    for (const Flag& flag : flags) {
      if (flag.spec_.name.size() > 1) names.push_back(flag.spec_.name);
      for (const std::string& alias : flag.spec_.aliases) names.push_back(alias);
    }
    return names;
  }

  // `spelled`: with its dashes, without a value.
  Error Unknown(const std::string& spelled) const {
    const std::string name = spelled.substr(spelled.starts_with("--") ? 2 : 1);
    std::string message = "unknown flag " + CleanText(spelled);
    if (name.size() == 1 && Lettered(name[0]) != nullptr) return UsageError(message + " (did you mean -" + name + "?)");
    return UsageError(message + DidYouMean(name, LongNames(), "--"));
  }

  // ---- The command line ----

  static Given& Of(std::vector<Given>& all, const FlagSpec* flag, std::string where) {
    for (Given& given : all) {
      if (given.flag == flag) return given;
    }
    all.push_back({.flag = flag, .where = std::move(where)});
    return all.back();
  }

  struct Spelling {
    const FlagSpec* flag = nullptr;
    std::string spelled;               // "--name"
    std::optional<std::string> value;  // what stands in the same argument
  };

  // `argument` begins with a dash and is longer than that.
  Result<Spelling> Find(const std::string& argument) const {
    const bool two = argument[1] == '-';
    const std::size_t start = two ? 2 : 1;
    const std::size_t equals = argument.find('=', start);
    const std::string name = argument.substr(start, equals == std::string::npos ? equals : equals - start);
    Spelling found{.flag = Named(name), .spelled = argument.substr(0, start) + name, .value = {}};
    if (equals != std::string::npos) found.value = argument.substr(equals + 1);
    if (found.flag == nullptr && !two && name.size() == 1) found.flag = Lettered(name[0]);
    if (found.flag != nullptr) return found;
    if (two || name.empty() || equals != std::string::npos) return Unknown(found.spelled);
    // -nshop is -n shop, but -namespce is a mistyped -namespace.
    const FlagSpec* const lettered = Lettered(name[0]);
    if (lettered == nullptr || name.size() == 1) return Unknown(found.spelled);
    constexpr std::size_t kLongEnough = 5, kClose = 2;
    for (const std::string_view known : LongNames()) {
      if (name.size() >= kLongEnough && name.size() <= known.size() + kClose && EditDistance(name, known) <= kClose)
        return Unknown(found.spelled);
    }
    if (lettered->implied) return UsageError("write the flags of " + CleanText(argument) + " one by one");
    return Spelling{.flag = lettered, .spelled = argument.substr(0, 2), .value = argument.substr(2)};
  }

  Result<void> Scan(const std::vector<std::string>& arguments) {
    std::string switch_before;  // "--loud", if that was the argument before
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      const std::string before = std::exchange(switch_before, "");
      if (argument == "--") {
        rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
        break;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        if (set.rest_ == nullptr) {
          std::string message = "unexpected argument " + Quoted(argument);
          if (!before.empty() && ReadFlagBool(argument)) message += "; write " + before + "=" + argument;
          return Stopped(UsageError(std::move(message)), arguments, i);
        }
        if (set.interspersed_) {
          rest.push_back(argument);
          continue;
        }
        rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
        break;
      }
      Result<Spelling> found = Find(argument);
      if (!found) return Stopped(found.error(), arguments, i);
      const FlagSpec& flag = *found->flag;
      if (!found->value && flag.implied) {
        switch_before = found->spelled;
        found->value = flag.implied;
      } else if (!found->value) {
        if (++i == arguments.size()) return UsageError(found->spelled + " needs a value: " + flag.value);
        found->value = arguments[i];
      }
      if (Result<void> kept = Keep(flag, found->spelled, *std::move(found->value)); !kept) return kept;
    }
    return {};
  }

  // --help is answered even if other arguments are wrong.
  Error Stopped(Error error, const std::vector<std::string>& arguments, std::size_t at) {
    for (std::size_t i = at + 1; i < arguments.size() && arguments[i] != "--"; ++i) {
      if (arguments[i] != "--help" && arguments[i] != "-h") continue;
      const FlagSpec* const flag = arguments[i] == "-h" ? Lettered('h') : Named("help");
      help = help || (flag != nullptr && !flag->stage && flag->name == "help");
    }
    return error;
  }

  Result<void> Keep(const FlagSpec& flag, const std::string& spelled, std::string value) {
    if (flag.stage) {
      Of(command_line, &flag, spelled).values.push_back(std::move(value));
      return {};
    }
    if (flag.name == "config") {
      config_file = std::move(value);
      return {};
    }
    const Result<bool> wanted = ReadFlagBool(value);
    if (!wanted) return UsageError(spelled + ": " + wanted.error().message());
    (flag.name == "help" ? help : version) = *wanted;
    return {};
  }

  // ---- The environment ----

  Result<void> ReadEnvironment() {
    std::map<std::string, std::string> variables;
    const auto add = [&](const std::string& variable) {
      const std::size_t equals = variable.find('=');
      if (equals != std::string::npos) variables.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    };
    if (set.environment_) {
      for (const std::string& variable : *set.environment_) add(variable);
    } else {
      for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) add(*variable);
    }
    std::set<std::string> known;
    std::string prefix;
    for (const Flag& flag : flags) {
      const std::string name = set.VariableOf(flag);
      prefix = name.substr(0, name.size() - flag.spec_.name.size());
      if (flag.spec_.in_environment) known.insert(name);
      const auto found = variables.find(name);
      if (found == variables.end() || found->second.empty() || IsServiceLink(name, variables)) continue;
      if (!flag.spec_.in_environment) continue;
      if (flag.spec_.stage) {
        environment.push_back({.flag = &flag.spec_, .where = name, .values = {found->second}});
      } else if (config_file.empty()) {
        config_file = found->second;
      }
    }
    // A variable that is almost one of ours is a mistake; others may belong to other programs.
    for (const auto& [name, value] : variables) {
      constexpr std::size_t kLongEnough = 5, kClose = 2;
      if (!name.starts_with(prefix) || name.size() < prefix.size() + kLongEnough || known.count(name) != 0) continue;
      if (IsServiceLink(name, variables)) continue;
      for (const std::string& other : known) {
        const std::size_t longer = std::max(name.size(), other.size()), shorter = std::min(name.size(), other.size());
        if (shorter >= prefix.size() + kLongEnough && longer - shorter <= kClose && EditDistance(name, other) <= kClose)
          return UsageError("unknown environment variable " + CleanText(name) + " (did you mean " + other + "?)");
      }
    }
    return {};
  }

  // ---- The config file ----

  static Result<std::string> Scalar(const FlagSpec& flag, const Value& value) {
    if (value.is_string()) return value.string_value().str();
    // YAML reads 1.10 as 1.1, 010 as 8 and yes as true: a text has to say that it is one.
    if (flag.text && (value.is_bool() || value.is_number())) return Error::Invalid("expected a string: put it in quotes");
    if (value.is_bool()) return std::string(value.bool_value() ? "true" : "false");
    if (value.is_int()) return std::to_string(value.int_value());
    if (value.is_double()) return fmt::format("{}", value.double_value());
    return Error::Invalid("expected a string, a number, true or false, or a list of these");
  }

  Result<void> ReadConfigFile() {
    if (config_file.empty()) return {};
    const std::string shown = CleanText(config_file);
    const FileText read = ReadFile(config_file);
    if (!read.ok()) return UsageError("--config " + shown + ": " + read.problem());
    std::vector<YamlMemberLine> lines;
    const Result<std::vector<YamlDocument>> documents = ReadYamlWithLines(read.text, lines);
    if (!documents) return UsageError(shown + ": " + WithoutQuotes(documents.error().message()));
    if (documents->empty()) return {};
    const YamlDocument& document = documents->front();
    if (documents->size() != 1 || !document.value.is_object())
      return UsageError(shown + ": expected one YAML map of flags, \"name: value\"");
    if (!document.duplicates.empty()) return UsageError(shown + ": duplicate flag " + document.duplicates.front());
    for (const auto& [key, value] : document.value.object()) {
      std::string where = shown;
      for (const YamlMemberLine& line : lines) {
        if (line.key == key.view()) where = shown + ":" + std::to_string(line.line);
      }
      const FlagSpec* const flag = Named(key.view());
      if (flag == nullptr) return UsageError(where + ": unknown flag " + Quoted(key.view()) + DidYouMean(key.view(), LongNames(), ""));
      where += ": " + flag->name;
      if (!flag->in_file) return UsageError(where + ": cannot be set in a config file");
      Given& given = Of(file, flag, where);
      if (!given.values.empty()) return UsageError(where + ": is also set under another name");
      if (!value.is_list()) {
        Result<std::string> one = Scalar(*flag, value);
        if (!one) return UsageError(where + ": " + one.error().message());
        given.values.push_back(*std::move(one));
        continue;
      }
      given.apart = true;
      for (const Value& item : value.list()) {
        Result<std::string> one = Scalar(*flag, item);
        if (!one) return UsageError(where + ": " + one.error().message());
        given.values.push_back(*std::move(one));
      }
    }
    return {};
  }

  // ---- Values ----

  static Result<void> CheckValue(const FlagSpec& flag, const std::string& value) {
    if (flag.range) {
      const auto [least, most] = *flag.range;
      const Result<double> number = ReadFlagDouble(value);
      if (!number || *number < least || *number > most)
        return Error::Invalid("expected a number from " + Plain(least) + " to " + Plain(most) + ", not " + Quoted(value));
    }
    if (!flag.choices.empty() && std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end()) {
      const std::vector<std::string_view> choices(flag.choices.begin(), flag.choices.end());
      return Error::Invalid("expected " + OneOfThese(flag.choices) + ", not " + Quoted(value) + DidYouMean(value, choices, ""));
    }
    return flag.check ? flag.check(value) : Result<void>();
  }

  Result<void> Take() {
    // The best source last: flags that share a variable follow the same order.
    std::vector<const Given*> all;
    const auto has = [](const std::vector<Given>& better, const FlagSpec* flag) {
      return std::any_of(better.begin(), better.end(), [&](const Given& given) { return given.flag == flag; });
    };
    for (const Given& given : file) {
      if (!has(environment, given.flag) && !has(command_line, given.flag)) all.push_back(&given);
    }
    for (const Given& given : environment) {
      if (!has(command_line, given.flag)) all.push_back(&given);
    }
    for (const Given& given : command_line) all.push_back(&given);

    std::vector<std::function<void()>> commits;
    for (const Given* given : all) {
      const FlagSpec& flag = *given->flag;
      const auto wrong = [&](const Error& error) {
        return UsageError(given->where + ": " + (flag.secret ? "the value is not acceptable" : error.ToString()));
      };
      const std::vector<std::string> values = flag.list && !flag.whole && !given->apart ? Split(given->values) : given->values;
      for (const std::string& value : values) {
        if (Result<void> good = CheckValue(flag, value); !good) return wrong(good.error());
      }
      if (values.empty() && !flag.list) continue;
      Result<std::function<void()>> commit = flag.stage(values);
      if (!commit) return wrong(commit.error());
      commits.push_back(*std::move(commit));
    }
    for (const Flag& flag : flags) {
      const bool given = std::any_of(all.begin(), all.end(), [&](const Given* one) { return one->flag == &flag.spec_; });
      if (flag.spec_.required && !given) return UsageError(SpelledFlag(flag.spec_) + " is missing: " + flag.spec_.help);
    }
    const auto [least, most] = CountOf(set.arguments_);
    if (set.rest_ == nullptr && !rest.empty()) return UsageError("unexpected argument " + Quoted(rest.front()));
    if (set.rest_ != nullptr && rest.size() < least) return UsageError("missing argument: " + set.arguments_);
    if (set.rest_ != nullptr && rest.size() > most) return UsageError("unexpected argument " + Quoted(rest[most]));
    for (const std::function<void()>& commit : commits) commit();
    if (set.rest_ != nullptr) *set.rest_ = std::move(rest);
    return {};
  }

  static std::vector<std::string> Split(const std::vector<std::string>& values) {
    std::vector<std::string> parts;
    for (const std::string& value : values) {
      for (std::size_t start = 0; start <= value.size();) {
        const std::size_t end = std::min(value.find(',', start), value.size());
        if (end > start) parts.push_back(value.substr(start, end - start));
        start = end + 1;
      }
    }
    return parts;
  }
};

}  // namespace internal

std::vector<std::string> FlagSet::Start(int argc, const char* const* argv) {
  if (program_.empty() && argc > 0) {
    program_ = argv[0];
    program_.erase(0, program_.rfind('/') + 1);
  }
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return arguments;
}

Result<void> FlagSet::Parse(int argc, const char* const* argv) { return Parse(Start(argc, argv)); }

Result<void> FlagSet::Parse(const std::vector<std::string>& arguments) const { return internal::FlagReader(*this).Run(arguments); }

}  // namespace kube
