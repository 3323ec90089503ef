// The frame of the contract suite: one set of cases that every server has to pass, embedded and real.
//
//   CONTRACT_SUITE(CreateContract);
//   TEST_P(CreateContract, SecondOneOfTheSameNameIsRefused) {
//     Post("/api/v1/namespaces/{ns}/configmaps", kConfigMap);
//     EXPECT_STATUS(Post("/api/v1/namespaces/{ns}/configmaps", kConfigMap), R"(
//   code: 409
//   ...)");
//   }
//
// Expectations are YAML, written as the real server answered. What differs from run to run is masked on both sides: UID, RV (resource
// versions), TIME; `{id}` stands for a name that is this case's own, `{ns}` for its namespace, `{w}` for the group of
// the widgets (texts.h) that all cases share. In requests they are put in.
//
// Where an old release answers in other words, oldest.yaml has them.
//
// KUBEXX_CONTRACT_SERVERS names the servers of a run: embedded, real-newest, real-oldest; joined by commas.
// KUBEXX_CONTRACT_RECORD names a file; what differs from its expectation goes there, for record.py to put it into the sources.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client_http.h"
#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::contract {

enum class ServerKind { kEmbedded, kRealNewest, kRealOldest };
std::string NameOf(ServerKind kind);

// A running server and what cases may ask of it.
struct ContractServer {
  ServerKind kind = ServerKind::kEmbedded;
  std::string url;
  HttpIdentity admin;
  bool lifecycle = true;  // whether garbage collection and namespace deletion work
  std::function<Result<HttpIdentity>(const std::string& user, const std::vector<std::string>& groups)> user;  // by client certificate
  std::function<Result<void>()> compact;                                                                      // forget old versions
  std::function<std::string()> logs;
  std::shared_ptr<void> owner;  // ends it

  bool embedded() const { return kind == ServerKind::kEmbedded; }
  bool oldest() const { return kind == ServerKind::kRealOldest; }
};

// What KUBEXX_CONTRACT_SERVERS asks for; all if it is not set.
std::vector<ServerKind> ServersToTest();
// Started at the first call, the same one afterwards.
const Result<ContractServer>& ServerOf(ServerKind kind);
// Ends them all.
void StopServers();

struct Answer {
  int code = 0;  // 0: no answer came
  Value body;    // null if it is not JSON
  HttpAnswer raw;
  // Fields of the object: metadata.resourceVersion and such.
  std::string rv() const { return body["metadata"]["resourceVersion"].string_value().str(); }
  std::string uid() const { return body["metadata"]["uid"].string_value().str(); }
  std::string Header(std::string_view name) const { return raw.Header(name); }
  // The texts of the `Warning` headers, without code and agent.
  std::vector<std::string> Warnings() const;
};

// A watch, event by event.
class WatchReader {
 public:
  WatchReader(const HttpIdentity& identity, HttpCall call) : stream_(identity, std::move(call)) {}
  // Status code of the answer.
  int Code();
  // The next event; a null Value if the server ended the watch. Fails the case if none arrives in time.
  Value Next();
  // Passes over events until one of this type comes.
  Value NextOf(std::string_view type);
  // Whether the server ends the watch within the time that a case may take. Events that come before are passed over.
  bool Ends();

 private:
  HttpStream stream_;
};

class ContractTest : public ::testing::TestWithParam<ServerKind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const ContractServer& server() const { return *server_; }

  // ---- Requests of the administrator. Paths and bodies may have {ns} and {id}. ----
  Answer Get(std::string_view path, const HttpFields& headers = {});
  Answer Post(std::string_view path, std::string_view body, const HttpFields& headers = {});
  Answer Put(std::string_view path, std::string_view body, const HttpFields& headers = {});
  Answer Delete(std::string_view path, std::string_view body = "", const HttpFields& headers = {});
  // type: "json", "merge", "strategic" or "apply".
  Answer Patch(std::string_view path, std::string_view type, std::string_view body, const HttpFields& headers = {});
  // Server-side apply by a manager; `more` is added to the query: "&force=true".
  Answer Apply(std::string_view path, std::string_view manager, std::string_view body, std::string_view more = "");
  Answer Call(HttpCall call);
  Answer CallAs(const HttpIdentity& identity, HttpCall call);
  std::unique_ptr<WatchReader> Watch(std::string_view path, const HttpFields& headers = {});

  // Asks until the condition holds; fails the case if it does not in time. Returns the last answer.
  Answer GetUntil(std::string_view path, const std::function<bool(const Answer&)>& holds);
  Answer GetUntilGone(std::string_view path);

  // This case's own name, and its namespace, which is made at the first call.
  const std::string& id() const { return id_; }
  const std::string& ns();
  // Deletes this at the end of the case.
  void Cleanup(std::string_view path);
  // Puts in {ns}, {id} and {w}; makes what they stand for.
  std::string Expand(std::string_view text);
  // A custom resource definition of group {id}.example.com, ready to be used; deleted at the end.
  void CreateCrd(std::string_view yaml);

  // ---- Expectations ----
  // Masks what differs from run to run. managedFields are taken out unless they are wanted.
  Value Normalise(const Value& value, bool keep_managed_fields = false);
  void ExpectStatus(const Answer& answer, std::string_view yaml, const char* file, int line, bool sort_causes = false);
  void ExpectBody(const Answer& answer, int code, std::string_view yaml, const char* file, int line);
  void ExpectValue(const Value& value, std::string_view yaml, const char* file, int line, bool keep_managed_fields = false);
  void ExpectManagedFields(const Answer& answer, std::string_view yaml, const char* file, int line);

 private:
  HttpCaller& Caller();
  const std::string& SharedWidgets();
  std::string MaskText(std::string text) const;
  Value Mask(const Value& value, bool keep_managed_fields) const;
  void Compare(const Value& actual, std::string_view yaml, const std::string& raw, const char* file, int line);

  const ContractServer* server_ = nullptr;
  std::string id_;
  std::string ns_;
  bool ns_made_ = false;
  int expectations_ = 0;  // compared so far
  std::vector<std::string> cleanup_;
};

// For cases about garbage collection and the end of namespaces.
#define SKIP_WITHOUT_LIFECYCLE() \
  if (!server().lifecycle) GTEST_SKIP() << "needs the controller manager, which could not be built for this release"

// The body is a Status with this code, reason, message and details; the HTTP code is the same. What every failure has (apiVersion, kind,
// metadata, status) is left out.
#define EXPECT_STATUS(answer, yaml) ExpectStatus((answer), (yaml), __FILE__, __LINE__)
// The same, if the real server iterates over a Go map: its causes come in any order, and stand sorted here.
#define EXPECT_STATUS_ANY_ORDER(answer, yaml) ExpectStatus((answer), (yaml), __FILE__, __LINE__, true)
// HTTP code and the whole body, without managedFields.
#define EXPECT_BODY(answer, code, yaml) ExpectBody((answer), (code), (yaml), __FILE__, __LINE__)
// Any part of an answer.
#define EXPECT_VALUE(value, yaml) ExpectValue((value), (yaml), __FILE__, __LINE__)
// The entries of metadata.managedFields, sorted by operation, manager and subresource.
#define EXPECT_MANAGED_FIELDS(answer, yaml) ExpectManagedFields((answer), (yaml), __FILE__, __LINE__)
#define EXPECT_CODE(answer, expected) EXPECT_EQ((answer).code, (expected)) << (answer).raw.body

#define CONTRACT_SUITE(name)                           \
  class name : public ContractTest {};                 \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(name); \
  INSTANTIATE_TEST_SUITE_P(Servers, name, ::testing::ValuesIn(ServersToTest()), TestParamName)

// As NameOf, with the letters that gtest allows.
std::string TestNameOf(ServerKind kind);
inline std::string TestParamName(const ::testing::TestParamInfo<ServerKind>& server) { return TestNameOf(server.param); }

}  // namespace kube::contract
