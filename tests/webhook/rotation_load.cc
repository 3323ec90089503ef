#include "rotation_load.h"

#include <array>
#include <utility>

namespace kube::rotation {

std::string_view Failures::KindOf(std::string_view text) {
  const auto has = [&](const auto& words) {
    for (const std::string_view word : words) {
      if (text.find(word) != std::string_view::npos) return true;
    }
    return false;
  };
  using namespace std::string_view_literals;
  if (has(std::array{"x509"sv, "certificate"sv, "authority"sv})) return "x509";
  if (has(std::array{"EOF"sv, "reset"sv, "refused"sv, "broken pipe"sv, "closed"sv, "ended"sv, "lost"sv})) return "connection";
  if (has(std::array{"timeout"sv, "deadline"sv, "timed out"sv})) return "timeout";
  return "other";
}

void Failures::Add(const std::string& text) {
  const std::string kind(KindOf(text));
  MutexLock lock(mu_);
  ++counts_[kind];
  if (texts_[kind].size() < 3) texts_[kind].push_back(text);
}

int Failures::count() const {
  MutexLock lock(mu_);
  int sum = 0;
  for (const auto& [kind, count] : counts_) sum += count;
  return sum;
}

int Failures::count(std::string_view kind) const {
  MutexLock lock(mu_);
  const auto found = counts_.find(kind);
  return found == counts_.end() ? 0 : found->second;
}

std::string Failures::ToString() const {
  MutexLock lock(mu_);
  if (counts_.empty()) return "none";
  std::string out;
  for (const auto& [kind, count] : counts_) {
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    for (const std::string& text : texts_.find(kind)->second) out += "\n    " + text;
  }
  return out;
}

Load::Load(int threads, Once once) : once_(std::move(once)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back("load", [this, i] {
      while (!stop_.first.stopped()) {
        const std::string failure = once_(stop_.first, i);
        ++calls_;
        if (!failure.empty()) failures_.Add(failure);
      }
    });
  }
}

void Load::Stop() {
  stop_.second.Cancel();
  threads_.clear();
}

}  // namespace kube::rotation
