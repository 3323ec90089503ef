// FlagSet: declaring flags, and the types they have. Reading them is in flags_parse.cc.
#include "kube/config/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "config/flags_internal.h"
#include "config/text.h"
#include "kube/value/time.h"

namespace kube {
namespace {

Error Reasoned(std::string_view reason, std::string message) {
  Error::Payload payload;
  payload.kind = ErrorKind::kInvalid;
  payload.reason = reason;
  payload.message = std::move(message);
  return Error(std::move(payload));
}

// "A_B" of "a-b".
std::string UpperCase(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z');
    const bool plain = letter || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += letter ? static_cast<char>(c - 'a' + 'A') : plain ? c : '_';
  }
  return out;
}

void Print(const std::string& text, std::FILE* to) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}  // namespace

bool IsHelpRequested(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == internal::kHelpReason; }
bool IsUsageError(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == internal::kUsageReason; }
Error UsageError(std::string message) { return Reasoned(internal::kUsageReason, std::move(message)); }

namespace internal {

Error HelpText(std::string text) { return Reasoned(kHelpReason, std::move(text)); }

Result<bool> ReadFlagBool(const std::string& text) {
  for (const std::string_view yes : {"true", "True", "TRUE", "1", "t", "T"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "FALSE", "0", "f", "F"}) {
    if (text == no) return false;
  }
  return Error::Invalid("expected true or false, not " + Quoted(text));
}

Result<std::int64_t> ReadFlagInteger(const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* const start = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(start, text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && (start == text.data() || text.find('-') == std::string::npos);
  if (!whole || error == std::errc::invalid_argument) return Error::Invalid("expected a whole number, not " + Quoted(text));
  if (error != std::errc() || value < least || value > most)
    return Error::Invalid(fmt::format("expected a whole number from {} to {}, not {}", least, most, Quoted(text)));
  return value;
}

Result<double> ReadFlagDouble(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return Error::Invalid("expected a number, not " + Quoted(text));
  return value;
}

Result<std::chrono::nanoseconds> ReadFlagDuration(const std::string& text) {
  const Result<Duration> value = Duration::Parse(text);
  if (!value) return Error::Invalid("expected a time such as 90s, 2m, 1h, not " + Quoted(text));
  return std::chrono::nanoseconds(value->nanoseconds());
}

std::string ShowFlag(double value) { return value == 0 ? "" : fmt::format("{}", value); }
std::string ShowFlag(std::chrono::nanoseconds value) { return value == value.zero() ? "" : Duration(value).ToString(); }

std::string SpelledFlag(const FlagSpec& flag) { return (flag.name.size() == 1 ? "-" : "--") + flag.name; }

std::string OneOfThese(const std::vector<std::string>& choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

}  // namespace internal

FlagSet::Flag& FlagSet::Flag::Letter(char letter) {
  spec_.letter = letter;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Alias(std::string_view name) {
  spec_.aliases.emplace_back(name);
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Value(std::string_view name) {
  spec_.value = name;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Default(std::string_view text) {
  spec_.default_text = text;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Range(double least, double most) {
  spec_.range = {least, most};
  return *this;
}
FlagSet::Flag& FlagSet::Flag::OneOf(std::vector<std::string> choices) {
  spec_.value.clear();
  for (const std::string& choice : choices) spec_.value += (spec_.value.empty() ? "" : "|") + choice;
  spec_.choices = std::move(choices);
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Check(std::function<Result<void>(const std::string&)> check) {
  spec_.check = std::move(check);
  return *this;
}
FlagSet::Flag& FlagSet::Flag::ImpliedValue(std::string_view value) {
  spec_.implied = value;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Whole() {
  spec_.whole = true;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Required() {
  spec_.required = true;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::Secret() {
  spec_.secret = true;
  return *this;
}
FlagSet::Flag& FlagSet::Flag::NotInEnvironment() {
  spec_.in_environment = false;
  return *this;
}

FlagSet::FlagSet(std::string program) : program_(std::move(program)) {}

FlagSet::Flag& FlagSet::AddStaged(std::string_view name, std::string_view help, internal::FlagStage stage) {
  internal::FlagSpec& spec = flags_.emplace_back().spec_;
  spec.name = name;
  spec.value = "VALUE";
  spec.help = help;
  spec.group = group_;
  spec.stage = std::move(stage);
  return flags_.back();
}

FlagSet::Flag& FlagSet::AddList(std::string_view name, std::vector<std::string>* target, std::string_view help) {
  Flag& flag = AddStaged(name, help, [target](const std::vector<std::string>& values) -> Result<std::function<void()>> {
    return std::function<void()>([target, values] { *target = values; });
  });
  flag.Value("LIST").Default(internal::Joined(*target, ","));
  flag.spec_.list = flag.spec_.text = true;
  return flag;
}

FlagSet::Flag& FlagSet::Call(std::string_view name, std::function<Result<void>(const std::string&)> set, std::string_view help) {
  return AddStaged(name, help, [set = std::move(set)](const std::vector<std::string>& values) -> Result<std::function<void()>> {
    for (const std::string& value : values) {
      if (Result<void> done = set(value); !done) return done.error();
    }
    return std::function<void()>([] {});
  });
}

void FlagSet::Group(std::string_view heading) { group_ = heading; }
void FlagSet::About(std::string_view text) { about_ = text; }
void FlagSet::Usage(std::string_view text) { usage_ = text; }
void FlagSet::Version(std::string_view version) { version_ = version; }
void FlagSet::Interspersed() { interspersed_ = true; }
void FlagSet::SetEnvironment(std::vector<std::string> variables) { environment_ = std::move(variables); }
void FlagSet::Arguments(std::string_view usage, std::vector<std::string>* rest) {
  arguments_ = usage;
  rest_ = rest;
}

std::deque<FlagSet::Flag> FlagSet::AllFlags() const {
  std::deque<Flag> all = flags_;
  const auto taken = [this](std::string_view name, char letter) {
    return std::any_of(flags_.begin(), flags_.end(), [&](const Flag& flag) {
      const internal::FlagSpec& spec = flag.spec_;
      return letter != '\0' ? spec.letter == letter || spec.name == std::string(1, letter)
                            : spec.name == name || std::find(spec.aliases.begin(), spec.aliases.end(), name) != spec.aliases.end();
    });
  };
  const auto add = [&](std::string_view name, std::string_view help) -> internal::FlagSpec* {
    if (taken(name, '\0')) return nullptr;
    internal::FlagSpec& spec = all.emplace_back().spec_;
    spec.name = name;
    spec.help = help;
    spec.implied = "true";
    spec.in_environment = spec.in_file = false;
    if (!group_.empty()) spec.group = "general";
    return &spec;
  };
  if (!program_.empty()) {
    if (internal::FlagSpec* config = add("config", "a YAML file with flags: \"name: value\"")) {
      config->value = "FILE";
      config->implied.reset();
      config->in_environment = true;
    }
    add("version", "print the version and exit");
  }
  if (internal::FlagSpec* help = add("help", "print this text and exit"); help != nullptr && !taken("", 'h')) help->letter = 'h';
  return all;
}

std::string FlagSet::VariableOf(const Flag& flag) const { return UpperCase(program_) + "_" + UpperCase(flag.spec_.name); }

std::vector<std::string> FlagSet::Variables() const {
  std::vector<std::string> names;
  if (program_.empty()) return names;
  for (const Flag& flag : AllFlags()) {
    if (flag.spec_.in_environment) names.push_back(VariableOf(flag));
  }
  return names;
}

std::string FlagSet::FlagLines() const {
  constexpr std::size_t kLeastColumn = 36, kMostColumn = 44;
  const std::deque<Flag> flags = AllFlags();
  std::vector<std::string> lefts;
  std::size_t column = kLeastColumn;
  for (const Flag& flag : flags) {
    const internal::FlagSpec& spec = flag.spec_;
    std::string left = spec.letter != '\0' ? std::string("  -") + spec.letter + ", " : spec.name.size() == 1 ? "  " : "      ";
    left += internal::SpelledFlag(spec);
    if (!spec.implied) {
      left += " " + spec.value;
    } else if (!spec.value.empty()) {
      left += "[=" + spec.value + "]";
    }
    if (left.size() + 2 <= kMostColumn) column = std::max(column, left.size() + 2);
    lefts.push_back(std::move(left));
  }
  std::string out;
  std::string_view group;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const internal::FlagSpec& spec = flags[i].spec_;
    if (spec.group != group) {
      group = spec.group;
      out += (out.empty() ? "" : "\n") + spec.group + ":\n";
    }
    std::string help = spec.help;
    if (spec.required) help += " (required)";
    if (!spec.default_text.empty() && !spec.secret) help += " (default " + spec.default_text + ")";
    std::string line = lefts[i];
    if (line.size() + 2 > column) {
      out += line + "\n";
      line.clear();
    }
    for (std::size_t start = 0; start <= help.size();) {
      const std::size_t end = std::min(help.find('\n', start), help.size());
      line.resize(std::max(line.size(), column), ' ');
      out += line + help.substr(start, end - start) + "\n";
      line.clear();
      start = end + 1;
    }
  }
  return out;
}

std::string FlagSet::Help() const {
  std::string out = usage_;
  if (out.empty()) out = "usage: " + program_ + " [flags]" + (arguments_.empty() ? "" : " " + arguments_) + "\n";
  if (!about_.empty()) out += "\n" + about_ + "\n";
  out += "\n" + FlagLines();
  if (!program_.empty() && !flags_.empty()) {
    const Flag& shown = flags_.front();
    out += fmt::format("\nFlags can also be set by environment variables ({}) and in the --config file ({}: ...).\n", VariableOf(shown),
                       shown.spec_.name);
  }
  return out;
}

int FlagSet::Fail(const Error& error) const {
  if (IsHelpRequested(error)) {
    Print(error.message(), stdout);
    return 0;
  }
  const std::string name = program_.empty() ? "" : program_ + ": ";
  const bool usage = IsUsageError(error);
  Print(name + error.ToString() + "\n" + (usage && !program_.empty() ? "Try '" + program_ + " --help'.\n" : ""), stderr);
  return usage ? 2 : 1;
}

int FlagSet::Finish(const std::function<Result<int>()>& body) const {
  int code = 0;
  try {
    const Result<int> done = body();
    code = done ? *done : Fail(done.error());
  } catch (const ErrorException& e) {
    code = Fail(e.error());
  } catch (const std::exception& e) {
    code = Fail(Error(ErrorKind::kUserCode, e.what()));
  }
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  return code != 0 || written ? code : Fail(Error::Internal("cannot write to standard output"));
}

}  // namespace kube
