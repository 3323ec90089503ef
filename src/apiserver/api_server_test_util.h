// Clients for the tests of ApiServer: one for requests, one for watches.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/apiserver/api_server.h"
#include "kube/codec/json.h"
#include "serve/serve_test_util.h"

namespace kube::apiserver {

using serve::CurlAnswer;
using serve::CurlClient;
using serve::CurlRequest;
using serve::Eventually;
using serve::kPatience;
using serve::RawClient;

// A server that has to start. Plain HTTP unless the test says otherwise.
inline std::unique_ptr<ApiServer> StartApiServer(ApiServerOptions options = {.http = true}) {
  return ApiServer::Start(std::move(options)).value();
}

inline Value JsonOf(const std::string& text) {
  Result<Value> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << text;
  return value ? *std::move(value) : Value();
}

// One connection; requests one after the other.
class Client {
 public:
  explicit Client(const ApiServer& server) : Client(server, server.admin_token()) {}
  Client(const ApiServer& server, const std::string& token) : url_(server.url()), ca_pem_(server.ca_pem()) {
    if (!token.empty()) headers_.push_back("authorization: Bearer " + token);
  }
  void UseCertificate(serve::KeyPair pair) { certificate_ = std::move(pair); }

  CurlAnswer Do(const std::string& method, const std::string& path, const std::string& body = "",
                const std::vector<std::string>& headers = {}) {
    CurlRequest request{.url = url_ + path, .method = method, .body = body, .headers = headers_, .ca_pem = ca_pem_};
    request.certificate = certificate_;
    if (!body.empty() && headers.empty()) request.headers.emplace_back("content-type: application/json");
    request.headers.insert(request.headers.end(), headers.begin(), headers.end());
    return curl_.Fetch(request);
  }
  CurlAnswer Get(const std::string& path) { return Do("GET", path); }
  // A ConfigMap in the namespace "default".
  CurlAnswer CreateMap(const std::string& name, const std::string& ns = "default") {
    return Do("POST", "/api/v1/namespaces/" + ns + "/configmaps",
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("}})");
  }

 private:
  std::string url_, ca_pem_;
  std::vector<std::string> headers_;
  serve::KeyPair certificate_;
  CurlClient curl_;
};

// An answer that comes in pieces, over plain HTTP/1.1 on a connection of its own.
class Stream {
 public:
  Stream(const ApiServer& server, const std::string& path, const std::string& headers = "") : client_(server.port()) {
    client_.Send("GET " + path + " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + server.admin_token() + "\r\n" + headers + "\r\n");
  }
  // Status line and headers; empty if the connection ends before.
  const std::string& Head() {
    if (head_.empty()) head_ = client_.ReadUntil("\r\n\r\n");
    return head_;
  }
  // The next line with its end; less at the end of the answer.
  std::string Line() {
    while (buffer_.find('\n') == std::string::npos && Fill()) {
    }
    return Take(std::min(buffer_.size(), buffer_.find('\n') == std::string::npos ? buffer_.size() : buffer_.find('\n') + 1));
  }
  std::string Bytes(std::size_t size) {
    while (buffer_.size() < size && Fill()) {
    }
    return Take(std::min(size, buffer_.size()));
  }
  // The next event of a watch as "TYPE name"; for bookmarks "BOOKMARK version", for errors "ERROR code"; "" at the end.
  std::string Event() {
    std::string line = Line();
    if (line.empty()) return "";
    const Value event = JsonOf(line);
    std::string type = event["type"].string_value().str();
    const Value& object = event["object"];
    if (type == "BOOKMARK") return type + " " + object["metadata"]["resourceVersion"].string_value().str();
    if (type == "ERROR") return type + " " + std::to_string(object["code"].int_value());
    return type + " " + object["metadata"]["name"].string_value().str();
  }
  // The rest of the answer is as it should be: it ends here, and with its proper end.
  bool EndsWell() { return Line().empty() && ended_; }

 private:
  bool Fill() {
    if (Head().empty() || ended_) return false;
    std::string size_line = client_.ReadUntil("\r\n");
    if (size_line.size() < 3) return false;
    std::size_t size = std::stoul(size_line, nullptr, 16);
    std::string chunk = client_.ReadExactly(size + 2);
    if (size == 0) ended_ = true;
    if (size == 0 || chunk.size() < size) return false;
    buffer_.append(chunk, 0, size);
    return true;
  }
  std::string Take(std::size_t size) {
    std::string out = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return out;
  }

  RawClient client_;
  std::string head_, buffer_;
  bool ended_ = false;
};

}  // namespace kube::apiserver
