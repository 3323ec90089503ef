#include "apiserver/builtin/cron.h"

#include <charconv>
#include <span>
#include <vector>

#include "kube/value/time.h"

namespace kube::apiserver {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct FieldRule {
  unsigned min, max;
  Names names = {};
  unsigned first_name = 0;
};

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (true) {
    std::size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (char c : text) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// A number; else the problem.
std::string ReadNumber(const std::string& text, unsigned& out) {
  long long value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  auto [stop, error] = std::from_chars(begin + (text.starts_with('+') ? 1 : 0), end, value);
  if (error == std::errc::result_out_of_range) {
    return "failed to parse int from " + text + ": strconv.Atoi: parsing \"" + text + "\": value out of range";
  }
  if (error != std::errc() || stop != end) {
    return "failed to parse int from " + text + ": strconv.Atoi: parsing \"" + text + "\": invalid syntax";
  }
  if (value < 0) return "negative number (" + std::to_string(value) + ") not allowed: " + text;
  out = static_cast<unsigned>(value);
  return {};
}

std::string ReadNumberOrName(const std::string& text, const FieldRule& rule, unsigned& out) {
  const std::string lower = Lower(text);
  for (std::size_t i = 0; i < rule.names.size(); ++i) {
    if (rule.names[i] != lower) continue;
    out = rule.first_name + static_cast<unsigned>(i);
    return {};
  }
  return ReadNumber(text, out);
}

std::string RangeProblem(const std::string& text, const FieldRule& rule) {
  const std::vector<std::string> range_and_step = Split(text, '/');
  const std::vector<std::string> low_and_high = Split(range_and_step[0], '-');
  unsigned start = 0, end = 0, step = 1;
  if (low_and_high[0] == "*" || low_and_high[0] == "?") {
    start = rule.min;
    end = rule.max;
  } else {
    if (std::string p = ReadNumberOrName(low_and_high[0], rule, start); !p.empty()) return p;
    end = start;
    if (low_and_high.size() == 2) {
      if (std::string p = ReadNumberOrName(low_and_high[1], rule, end); !p.empty()) return p;
    } else if (low_and_high.size() > 2) {
      return "too many hyphens: " + text;
    }
  }
  if (range_and_step.size() == 2) {
    if (std::string p = ReadNumber(range_and_step[1], step); !p.empty()) return p;
    if (low_and_high.size() == 1) end = rule.max;  // "N/step" runs to the end
  } else if (range_and_step.size() > 2) {
    return "too many slashes: " + text;
  }
  if (start < rule.min) {
    return "beginning of range (" + std::to_string(start) + ") below minimum (" + std::to_string(rule.min) + "): " + text;
  }
  if (end > rule.max) return "end of range (" + std::to_string(end) + ") above maximum (" + std::to_string(rule.max) + "): " + text;
  if (start > end) {
    return "beginning of range (" + std::to_string(start) + ") beyond end of range (" + std::to_string(end) + "): " + text;
  }
  if (step == 0) return "step of range should be a positive number: " + text;
  return {};
}

std::string DescriptorProblem(const std::string& text) {
  for (std::string_view known : {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}) {
    if (text == known) return {};
  }
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    const std::string span = text.substr(kEvery.size());
    if (Duration::Parse(span)) return {};
    return "failed to parse duration " + text + ": time: invalid duration \"" + span + "\"";
  }
  return "unrecognized descriptor: " + text;
}

}  // namespace

std::string CronProblem(std::string_view schedule) {
  std::string text(schedule);
  if (text.empty()) return "empty spec string";
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    std::size_t blank = text.find(' ');
    text = blank == std::string::npos ? "" : text.substr(blank + 1);
  }
  if (text.starts_with('@')) return DescriptorProblem(text);
  const std::vector<std::string> fields = Words(text);
  if (fields.size() != 5) {
    std::string shown;
    for (const std::string& f : fields) shown += (shown.empty() ? "" : " ") + f;
    return "expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" + shown + "]";
  }
  const FieldRule rules[] = {{0, 59}, {0, 23}, {1, 31}, {1, 12, kMonths, 1}, {0, 6, kDays, 0}};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string& range : Split(fields[i], ',')) {
      if (range.empty()) continue;
      if (std::string p = RangeProblem(range, rules[i]); !p.empty()) return p;
    }
  }
  return {};
}

}  // namespace kube::apiserver
