#include "upstream_fixtures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kube/codec/json.h"

namespace kube::contract {
namespace {

// Standard output of a command, or nothing if it failed.
std::string Output(const char* command) {
  std::string out;
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  while (std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  return pclose(pipe) == 0 ? out : std::string();
}

}  // namespace

const Fixtures& UpstreamFixtures() {
  static const Fixtures fixtures = []() -> Fixtures {
    if (Output("go version 2>/dev/null").empty()) return {{}, "no Go toolchain, through which upstream's fixtures are fetched"};
    std::string described = Output("cd / && go mod download -json k8s.io/api@" KUBEXX_FIXTURES_VERSION);
    auto module = ParseJson(described);
    if (!module) return {{}, "the Go module client did not fetch k8s.io/api@" KUBEXX_FIXTURES_VERSION ": " + described};
    return {std::filesystem::path((*module)["Dir"].string_value().view()) / "testdata", {}};
  }();
  return fixtures;
}

std::vector<std::string> FixtureNames(const std::filesystem::path& folder, const std::string& suffix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace kube::contract
