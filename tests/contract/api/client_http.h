// The requests of the contract suite, sent through kube::Client: every case also tests the client's path to the server.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/transport/http.h"
#include "testing/http.h"

namespace kube::contract {

using testing::internal::HttpAnswer;
using testing::internal::HttpCall;
using testing::internal::HttpFields;
using testing::internal::HttpIdentity;

// Thread safety: one thread at a time. Callers of one identity share one client, and so its connection.
class HttpCaller {
 public:
  explicit HttpCaller(HttpIdentity identity) : identity_(std::move(identity)) {}
  // Errors: kTransport, kTimeout.
  Result<HttpAnswer> Do(const HttpCall& call);

 private:
  HttpIdentity identity_;
};

// An answer that comes in pieces.
class HttpStream {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  HttpStream(HttpIdentity identity, HttpCall call) : identity_(std::move(identity)), call_(std::move(call)) {}

  Result<HttpAnswer> Head(TimePoint until);
  // The next line without its end; nothing if the answer is complete.
  Result<std::optional<std::string>> NextLine(TimePoint until);
  // The next `count` bytes, or nothing if the answer ends before.
  Result<std::optional<std::string>> NextBytes(std::size_t count, TimePoint until);

 private:
  // False at the end of the answer.
  Result<bool> Fill(TimePoint until);

  HttpIdentity identity_;
  HttpCall call_;
  std::optional<HttpAnswer> head_;
  std::unique_ptr<BodyStream> body_;
  std::string buffer_;
};

// Ends the clients' connections; before the servers end.
void CloseClients();

}  // namespace kube::contract
