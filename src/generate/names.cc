#include "generate/names.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace kube::generate {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); }
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char Upper(char c) { return IsLower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

constexpr auto kReserved = std::to_array<std::string_view>({
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "kube",
    "linux",
    "long",
    "major",
    "makedev",
    "minor",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
});

// Functions of the C library in the global namespace, where a namespace of that name would be an error.
constexpr auto kGlobal = std::to_array<std::string_view>({
    "abort",    "abs",          "accept", "access",  "acct",      "alarm",    "atoi",     "basename",    "bind",    "bsearch",
    "calloc",   "canonicalize", "ceil",   "chdir",   "chmod",     "chown",    "chroot",   "clock",       "clone",   "close",
    "connect",  "cos",          "crypt",  "daemon",  "daylight",  "div",      "dup",      "environ",     "exec",    "exit",
    "exp",      "finite",       "floor",  "fork",    "free",      "fsync",    "gamma",    "getenv",      "getline", "getopt",
    "getpid",   "gettext",      "hypot",  "index",   "ioctl",     "j0",       "j1",       "kill",        "labs",    "link",
    "listen",   "localtime",    "lockf",  "log",     "malloc",    "memset",   "mkdir",    "mknod",       "mktime",  "nice",
    "open",     "optarg",       "pause",  "perror",  "pipe",      "poll",     "popen",    "pow",         "printf",  "profil",
    "putenv",   "pwd",          "qsort",  "raise",   "rand",      "random",   "read",     "readlink",    "realloc", "realpath",
    "regcomp",  "remainder",    "remove", "rename",  "revoke",    "rewind",   "rindex",   "rint",        "rmdir",   "round",
    "select",   "send",         "setenv", "seteuid", "setlocale", "shutdown", "signal",   "significand", "sin",     "sinh",
    "sleep",    "socket",       "sqrt",   "srandom", "stat",      "stime",    "strcmp",   "strlen",      "swab",    "sync",
    "syscall",  "system",       "tan",    "tanh",    "time",      "times",    "timezone", "tolower",     "toupper", "trunc",
    "truncate", "ttyslot",      "umask",  "ungetc",  "unlink",    "usleep",   "vfork",    "vprintf",     "wait",    "wcslen",
    "write",    "y0",           "y1",     "yn",
});

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "pod", "IPs": words of letters and digits, with abbreviations in the plural as one.
std::vector<std::string> WordsOf(std::string_view name) {
  std::string text(name);
  // "IPs" would be "I" and "Ps".
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const bool ends = i + 2 == text.size() || !IsLower(text[i + 2]);
    if (!IsUpper(text[i - 1]) || !IsUpper(text[i]) || text[i + 1] != 's' || !ends) continue;
    for (std::size_t k = i; k < text.size() && IsUpper(text[k]); --k) {
      if (k == 0 || !IsUpper(text[k - 1])) break;
      text[k] = Lower(text[k]);
    }
  }
  std::vector<std::string> out;
  bool open = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!IsWord(c)) {
      open = false;
      continue;
    }
    const char before = i == 0 ? ' ' : text[i - 1], next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool begins = IsUpper(c) && (!IsUpper(before) || IsLower(next));
    if (!open || begins) out.emplace_back();
    open = true;
    out.back() += c;
  }
  return out;
}

}  // namespace

bool IsReservedName(std::string_view name) { return Contains(kReserved, name); }

std::string MemberName(std::string_view name) {
  if (name == "openAPIV3Schema") return "open_api_v3_schema";  // as in kubexx's own struct
  std::string out;
  for (const std::string& word : WordsOf(name)) {
    if (!out.empty()) out += '_';
    for (char c : word) out += Lower(c);
  }
  if (out.empty()) out = "value";
  if (IsDigit(out[0])) out.insert(0, 1, '_');
  if (IsReservedName(out) || out == "unknown_fields") out += '_';
  return out;
}

std::string TypeNamePart(std::string_view name) {
  std::string out;
  for (const std::string& word : WordsOf(name)) {
    if (!out.empty() && IsDigit(out.back()) && IsDigit(word[0])) out += '_';
    out += Upper(word[0]);
    for (std::size_t i = 1; i < word.size(); ++i) out += Lower(word[i]);
  }
  return out;
}

std::string SingularOf(std::string_view plural) {
  const auto ends = [&](auto... endings) { return (plural.ends_with(endings) || ...); };
  const auto without = [&](std::size_t bytes) { return std::string(plural.substr(0, plural.size() - bytes)); };
  if (plural.size() < 3 || plural == "dns" || ends("ss", "us", "is", "as", "ics", "eries", "DNS")) return std::string(plural);
  if (ends("ies") && plural.size() > 4) return without(3) + "y";
  if (ends("ndices")) return without(4) + "ex";
  if (ends("sses", "shes", "ches", "xes", "uses", "iases")) return ends("uses") && !ends("tuses", "uuses") ? without(1) : without(2);
  return ends("s") ? without(1) : std::string(plural);
}

bool IsNamespaceName(std::string_view name) {
  while (true) {
    const std::size_t end = name.find("::");
    const std::string_view part = name.substr(0, end);
    const bool valid =
        !part.empty() && !IsDigit(part[0]) && std::all_of(part.begin(), part.end(), [](char c) { return IsWord(c) || c == '_'; });
    if (!valid || IsReservedName(part)) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 2);
  }
}

std::string NamespaceOfGroup(std::string_view group) {
  std::string out;
  for (char c : group.substr(0, group.find('.'))) out += IsWord(c) ? Lower(c) : '_';
  if (out.empty()) out = "api";
  if (IsDigit(out[0])) out.insert(0, "api_");
  if (IsReservedName(out) || Contains(kGlobal, out) || out == "posix") out += "_api";
  return out;
}

}  // namespace kube::generate
