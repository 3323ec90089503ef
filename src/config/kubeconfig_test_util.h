// For configuration tests: a directory of files and an environment.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/folder_test_util.h"
#include "kube/config/load.h"

namespace kube::internal {

// Options with this environment and without a service account.
inline LoadOptions OptionsWith(std::map<std::string, std::string> environment) {
  LoadOptions options;
  options.getenv = [environment = std::move(environment)](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found != environment.end() ? std::optional(found->second) : std::nullopt;
  };
  options.service_account_dir = "/nonexistent/serviceaccount";
  return options;
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "no error" : result.error().ToString();
}

}  // namespace kube::internal
