// What the blocks of a Markdown page find around them in docs_test (scripts/doc_code.py): a server of their own, and a client.
#pragma once

#include <gtest/gtest.h>
#include <kube/api/apps/v1.h>
#include <kube/api/core/v1.h>
#include <kube/api/networking/v1.h>
#include <kube/kube.h>
#include <kube/testing/api_server.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

namespace kube::testing {

class PageTest : public ::testing::Test {
 protected:
  const std::unique_ptr<ApiServer> server_ = ApiServer::Start().value();
  ApiServer& server = *server_;
  const Client client = server.NewClient().value();
  const Context ctx = Context::Background().WithTimeout(std::chrono::minutes(2));
};

}  // namespace kube::testing
