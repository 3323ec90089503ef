#include <algorithm>

#include "command.h"

namespace kube::app {
namespace {

constexpr std::size_t kHelpColumn = 36;

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

}  // namespace

std::string_view Suggest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, word.size());
  for (std::string_view candidate : candidates) {
    std::size_t distance = EditDistance(word, candidate);
    if (!word.empty() && word.size() >= 2 && candidate.substr(0, word.size()) == word) distance = 1;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

void FlagSet::Bool(bool* target, std::string_view name, char letter, std::string_view help) {
  flags_.push_back({name, letter, {}, help, target, nullptr, nullptr});
}

void FlagSet::Text(std::string* target, std::string_view name, char letter, std::string_view value_name, std::string_view help) {
  flags_.push_back({name, letter, value_name, help, nullptr, target, nullptr});
}

void FlagSet::Texts(std::vector<std::string>* target, std::string_view name, char letter, std::string_view value_name,
                    std::string_view help) {
  flags_.push_back({name, letter, value_name, help, nullptr, nullptr, target});
}

Result<const FlagSet::Flag*> FlagSet::Find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) {
    if (flag.name == name) return &flag;
    names.push_back(flag.name);
  }
  std::string message = "unknown flag --" + std::string(name);
  if (std::string_view suggestion = Suggest(name, names); !suggestion.empty())
    message += " (did you mean --" + std::string(suggestion) + "?)";
  return Error::Invalid(std::move(message));
}

Result<void> FlagSet::Set(const Flag& flag, std::string_view spelled, std::string_view value) {
  if (flag.boolean != nullptr) {
    if (value != "true" && value != "false")
      return Error::Invalid(std::string(spelled) + " is either true or false, not \"" + std::string(value) + '"');
    *flag.boolean = value == "true";
    return {};
  }
  if (flag.texts != nullptr) {
    flag.texts->emplace_back(value);
    return {};
  }
  if (flag.value_name.find('|') != std::string_view::npos) {
    std::vector<std::string_view> choices = Split(flag.value_name, '|');
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      std::string message =
          std::string(spelled) + " cannot be \"" + std::string(value) + "\"; it is one of " + std::string(flag.value_name);
      if (std::string_view s = Suggest(value, choices); !s.empty()) message += " (did you mean " + std::string(s) + "?)";
      return Error::Invalid(std::move(message));
    }
  }
  *flag.text = std::string(value);
  return {};
}

Result<std::vector<std::string>> FlagSet::Parse(const std::vector<std::string>& args) const {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (arg == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      return rest;
    }
    if (arg.size() < 2 || arg[0] != '-') {
      rest.emplace_back(arg);
      continue;
    }
    const Flag* flag = nullptr;
    std::string_view value;
    bool has_value = false;
    std::string spelled;
    if (arg[1] == '-') {
      std::string_view name = arg.substr(2);
      if (std::size_t equals = name.find('='); equals != std::string_view::npos) {
        value = name.substr(equals + 1);
        name = name.substr(0, equals);
        has_value = true;
      }
      auto found = Find(name);
      if (!found) return found.error();
      flag = *found;
      spelled = "--" + std::string(name);
    } else {
      spelled = std::string(arg.substr(0, 2));
      auto found = std::find_if(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.letter == arg[1]; });
      if (found == flags_.end()) return Error::Invalid("unknown flag " + spelled);
      flag = &*found;
      value = arg.substr(2);
      has_value = !value.empty();
      if (has_value && value[0] == '=') value.remove_prefix(1);
      if (has_value && flag->boolean != nullptr) return Error::Invalid("write the flags of " + std::string(arg) + " one by one");
    }
    if (!has_value && flag->boolean != nullptr) value = "true";
    if (!has_value && flag->boolean == nullptr) {
      if (i + 1 == args.size()) return Error::Invalid(spelled + " needs a value: " + std::string(flag->value_name));
      value = args[++i];
    }
    if (auto r = Set(*flag, spelled, value); !r) return r.error();
  }
  return rest;
}

std::string FlagSet::Help() const {
  std::string out;
  for (const Flag& flag : flags_) {
    std::string line = flag.letter != '\0' ? std::string("  -") + flag.letter + ", " : "      ";
    line += "--" + std::string(flag.name);
    if (flag.boolean == nullptr) line += ' ' + std::string(flag.value_name);
    bool first = true;
    for (std::string_view part : Split(flag.help, '\n')) {
      if (first && line.size() + 2 > kHelpColumn) {
        out += line + '\n';
        line.clear();
      }
      line.resize(std::max(line.size(), kHelpColumn), ' ');
      out += line + std::string(part) + '\n';
      line.clear();
      first = false;
    }
  }
  return out;
}

}  // namespace kube::app
