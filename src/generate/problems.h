// Problems: what a generator run has to say, each with its place in the source.
//
//   problems.Error(at, "struct Net has no KUBE_TABLE; write `KUBE_TABLE(Net);` as its last line");
//   if (problems.has_errors()) { std::cerr << problems.ToString(); ... }     // api/net.h:12:1: struct Net has no ...
//
// At most kMostProblems are kept; a hostile input costs no more memory than that. Thread safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace kube::generate {

inline constexpr std::size_t kMostProblems = 100;

struct Position {
  std::shared_ptr<const std::string> file;  // null: about no file in particular
  int line = 0;                             // from 1
  int column = 0;                           // from 1, in bytes

  // "api/net.h:12:1"; empty without a file.
  std::string ToString() const;
};

struct Problem {
  Position at;
  std::string text;
  bool warning = false;

  // "api/net.h:12:1: text", "api/net.h:12:1: warning: text".
  std::string ToString() const;
};

class Problems {
 public:
  void Error(const Position& at, std::string text);
  void Warning(const Position& at, std::string text);

  bool has_errors() const { return errors_ != 0; }
  std::size_t error_count() const { return errors_; }  // those that were not kept, too
  // Sorted by place, without repetitions.
  std::vector<Problem> Sorted() const;
  // One per line, and how many more there are. "" if there are none.
  std::string ToString() const;

 private:
  void Add(Problem problem);

  std::vector<Problem> problems_;
  std::size_t errors_ = 0, dropped_ = 0;
};

}  // namespace kube::generate
