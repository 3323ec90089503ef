// Shared by the tests of credentials: a directory with scripts, certificates, and the log.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/folder_test_util.h"
#include "base/process_log_test_util.h"
#include "base/wait_test_util.h"
#include "kube/serve/certificate.h"

namespace kube::internal {

inline const serve::CertificateAuthority& TestCa() {
  static const auto* const ca = new serve::CertificateAuthority(serve::CertificateAuthority::Create("kubexx test CA").value());
  return *ca;
}

inline serve::KeyPair TestPair(const std::string& name, serve::CertificateRequest request = {}) {
  request.common_name = name;
  request.client = true;
  return TestCa().Issue(request).value();
}

}  // namespace kube::internal
