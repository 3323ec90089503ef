// Upstream's own serialisation fixtures: every kind as .json, .yaml and .pb, from the Go module k8s.io/api. They are fetched through the Go
// module client and never stored here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kube::contract {

struct Fixtures {
  std::filesystem::path folder;  // testdata/ of the module; empty if there is no Go toolchain
  std::string why_missing;       // then this says so
};

// Fetches the module once per process. A Go toolchain that cannot fetch it is a failure: check `folder`.
const Fixtures& UpstreamFixtures();

// File names without their suffix, sorted: "apps.v1.Deployment".
std::vector<std::string> FixtureNames(const std::filesystem::path& folder, const std::string& suffix);

std::string ReadFile(const std::filesystem::path& file);

}  // namespace kube::contract
