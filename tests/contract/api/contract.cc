#include "contract.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "texts.h"

namespace kube::contract {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// How long a case waits for what has to come. Nothing takes this long where all is well.
constexpr seconds kPatience{120};

std::string RandomId() {
  static std::mt19937_64 random{std::random_device{}()};
  std::string id = "x";
  for (int i = 0; i < 9; ++i) id += "bcdfghjkmnpqrtvwz2456789"[random() % 24];
  return id;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

// Sentences of the server that would fill the expectations; compared in full, written short.
const std::vector<std::pair<std::string, std::string>>& LongTexts() {
  static const std::vector<std::pair<std::string, std::string>> texts = {
      {"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
       "alphanumeric character (e.g. 'example.com', regex used for validation is "
       "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
       "<not a subdomain>"},
      {"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
       "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
       "<not a label>"},
      {"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
       "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
       "<not a qualified name>"},
      {"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
       "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
       "<not a label value>"},
      {"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
       "regex used for validation is '[-._a-zA-Z0-9]+')",
       "<not a key>"},
  };
  return texts;
}

// How a server joins the causes into the message of an Invalid status.
std::string MessageOfCauses(const Value& status) {
  const Value& details = status["details"];
  std::string who = details["kind"].string_value().str();
  if (!details["group"].string_value().empty()) who += "." + details["group"].string_value().str();
  std::vector<std::string> parts;
  for (const Value& cause : details["causes"].list()) {
    std::string part = cause["field"].string_value().str() + ": " + cause["message"].string_value().str();
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
  }
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return who + " \"" + details["name"].string_value().str() + "\" is invalid: " + (parts.size() > 1 ? "[" + joined + "]" : joined);
}

Answer ToAnswer(const Result<HttpAnswer>& from) {
  Answer answer;
  if (!from) {
    ADD_FAILURE() << from.error().ToString();
    return answer;
  }
  answer.code = from->status;
  answer.raw = *from;
  if (Result<Value> body = ParseJson(from->body)) answer.body = *body;
  return answer;
}

void Record(const Value& entry) {
  const char* path = getenv("KUBEXX_CONTRACT_RECORD");
  if (path == nullptr) return;
  std::ofstream out(path, std::ios::app);
  out << ToJson(entry) << '\n';
}

// What the oldest release answers otherwise than today's: the number of the expectation within its case -> YAML.
const Value& OldestDifferences() {
  static const Value differences = [] {
    std::ifstream in("tests/contract/api/oldest.yaml");
    std::ostringstream text;
    text << in.rdbuf();
    Result<std::vector<Value>> documents = ParseYaml(text.str());
    EXPECT_TRUE(documents) << "tests/contract/api/oldest.yaml: " << documents.error().ToString();
    return documents && !documents->empty() ? documents->front() : Value::Object();
  }();
  return differences;
}

// "CreateContract.BadNameIsRefused 2": the second expectation of the case that runs.
std::string KeyOf(int number) {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string suite = test->test_suite_name();
  std::string name = test->name();
  return suite.substr(suite.find('/') + 1) + "." + name.substr(0, name.find('/')) + " " + std::to_string(number);
}

}  // namespace

std::vector<std::string> Answer::Warnings() const {
  std::vector<std::string> out;
  for (const std::string& header : raw.Headers("warning")) {
    const std::size_t from = header.find('"');
    const std::size_t to = header.rfind('"');
    std::string text = from == std::string::npos || to <= from ? header : header.substr(from + 1, to - from - 1);
    ReplaceAll(text, "\\\"", "\"");
    ReplaceAll(text, "\\\\", "\\");
    out.push_back(text);
  }
  return out;
}

int WatchReader::Code() {
  Result<HttpAnswer> head = stream_.Head(steady_clock::now() + kPatience);
  if (!head) ADD_FAILURE() << head.error().ToString();
  return head ? head->status : 0;
}

Value WatchReader::Next() {
  Result<std::optional<std::string>> line = stream_.NextLine(steady_clock::now() + kPatience);
  if (!line) {
    ADD_FAILURE() << "no watch event: " << line.error().ToString();
    return {};
  }
  if (!line->has_value()) return {};
  Result<Value> event = ParseJson(**line);
  if (!event) ADD_FAILURE() << "not JSON: " << **line;
  return event ? *event : Value();
}

Value WatchReader::NextOf(std::string_view type) {
  while (true) {
    Value event = Next();
    if (event.is_null() || event["type"].string_value() == type) return event;
  }
}

bool WatchReader::Ends() {
  const auto until = steady_clock::now() + kPatience;
  while (true) {
    Result<std::optional<std::string>> line = stream_.NextLine(until);
    if (!line) return false;
    if (!line->has_value()) return true;
  }
}

void ContractTest::SetUp() {
  const Result<ContractServer>& found = ServerOf(GetParam());
  ASSERT_TRUE(found) << found.error().ToString();
  server_ = &*found;
  id_ = RandomId();
  ns_ = "c-" + id_;
}

void ContractTest::TearDown() {
  if (server_ == nullptr) return;
  for (auto path = cleanup_.rbegin(); path != cleanup_.rend(); ++path) Caller().Do({.method = "DELETE", .url = server_->url + *path}).ok();
  if (ns_made_) Caller().Do({.method = "DELETE", .url = server_->url + "/api/v1/namespaces/" + ns_}).ok();
  if (HasFailure()) std::cout << "  (case " << id_ << " on " << NameOf(GetParam()) << ")\n";
}

HttpCaller& ContractTest::Caller() {
  static std::map<ServerKind, std::unique_ptr<HttpCaller>> callers;
  std::unique_ptr<HttpCaller>& caller = callers[GetParam()];
  if (caller == nullptr) caller = std::make_unique<HttpCaller>(server_->admin);
  return *caller;
}

const std::string& ContractTest::ns() {
  if (!ns_made_) {
    ns_made_ = true;
    const std::string body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns_ + R"("}})";
    Answer made = ToAnswer(Caller().Do({.method = "POST",
                                        .url = server_->url + "/api/v1/namespaces",
                                        .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                                        .body = body}));
    EXPECT_CODE(made, 201);
  }
  return ns_;
}

void ContractTest::Cleanup(std::string_view path) { cleanup_.push_back(Expand(path)); }

std::string ContractTest::Expand(std::string_view text) {
  std::string out(text);
  if (out.find("{ns}") != std::string::npos) ReplaceAll(out, "{ns}", ns());
  if (out.find("{w}") != std::string::npos) ReplaceAll(out, "{w}", SharedWidgets());
  ReplaceAll(out, "{id}", id_);
  return out;
}

namespace {

// The group of the widgets of each server; empty until they are made.
std::string& WidgetGroupOf(ServerKind kind) {
  static std::map<ServerKind, std::string> groups;
  return groups[kind];
}

}  // namespace

const std::string& ContractTest::SharedWidgets() {
  std::string& group = WidgetGroupOf(GetParam());
  if (!group.empty()) return group;
  group = RandomId();
  CreateCrd(kWidgetCrd);
  cleanup_.pop_back();  // stays for the cases to come
  return group;
}

Answer ContractTest::Call(HttpCall call) {
  call.url = server_->url + Expand(call.url);
  call.body = Expand(call.body);
  const bool has_accept = std::any_of(call.headers.begin(), call.headers.end(), [](const auto& h) { return h.first == "Accept"; });
  if (!has_accept) call.headers.emplace_back("Accept", "application/json");
  return ToAnswer(Caller().Do(call));
}

Answer ContractTest::CallAs(const HttpIdentity& identity, HttpCall call) {
  call.url = server_->url + Expand(call.url);
  call.body = Expand(call.body);
  call.headers.emplace_back("Accept", "application/json");
  HttpCaller caller(identity);
  return ToAnswer(caller.Do(call));
}

namespace {

HttpCall MakeCall(std::string_view method, std::string_view path, std::string_view body, const HttpFields& headers, const char* type) {
  HttpCall call{.method = std::string(method), .url = std::string(path), .headers = headers, .body = std::string(body)};
  const bool has_type = std::any_of(headers.begin(), headers.end(), [](const auto& h) { return h.first == "Content-Type"; });
  if (!has_type && !body.empty()) call.headers.emplace_back("Content-Type", type);
  return call;
}

// Bodies in the cases are YAML if that is shorter; requests are JSON unless a case says otherwise.
std::string ToRequestJson(const std::string& body) {
  if (body.empty() || body[0] == '{' || body[0] == '[') return body;
  Result<std::vector<Value>> documents = ParseYaml(body);
  if (!documents || documents->size() != 1) return body;
  return ToJson(documents->front());
}

}  // namespace

Answer ContractTest::Get(std::string_view path, const HttpFields& headers) { return Call(MakeCall("GET", path, "", headers, "")); }

Answer ContractTest::Post(std::string_view path, std::string_view body, const HttpFields& headers) {
  return Call(MakeCall("POST", path, ToRequestJson(Expand(body)), headers, "application/json"));
}

Answer ContractTest::Put(std::string_view path, std::string_view body, const HttpFields& headers) {
  return Call(MakeCall("PUT", path, ToRequestJson(Expand(body)), headers, "application/json"));
}

Answer ContractTest::Delete(std::string_view path, std::string_view body, const HttpFields& headers) {
  return Call(MakeCall("DELETE", path, ToRequestJson(Expand(body)), headers, "application/json"));
}

Answer ContractTest::Patch(std::string_view path, std::string_view type, std::string_view body, const HttpFields& headers) {
  static const std::map<std::string_view, const char*> kTypes = {{"json", "application/json-patch+json"},
                                                                 {"merge", "application/merge-patch+json"},
                                                                 {"strategic", "application/strategic-merge-patch+json"},
                                                                 {"apply", "application/apply-patch+yaml"}};
  const std::string expanded = Expand(body);
  return Call(MakeCall("PATCH", path, type == "apply" ? expanded : ToRequestJson(expanded), headers, kTypes.at(type)));
}

Answer ContractTest::Apply(std::string_view path, std::string_view manager, std::string_view body, std::string_view more) {
  return Patch(std::string(path) + "?fieldManager=" + std::string(manager) + std::string(more), "apply", body);
}

std::unique_ptr<WatchReader> ContractTest::Watch(std::string_view path, const HttpFields& headers) {
  HttpCall call{.url = server_->url + Expand(path), .headers = headers};
  const bool has_accept = std::any_of(headers.begin(), headers.end(), [](const auto& h) { return h.first == "Accept"; });
  if (!has_accept) call.headers.emplace_back("Accept", "application/json");
  return std::make_unique<WatchReader>(server_->admin, std::move(call));
}

Answer ContractTest::GetUntil(std::string_view path, const std::function<bool(const Answer&)>& holds) {
  const Context ctx = Context::Background().WithTimeout(kPatience);
  while (true) {
    Answer answer = Get(path);
    if (holds(answer)) return answer;
    if (!ctx.SleepFor(std::chrono::milliseconds(20))) {
      ADD_FAILURE() << path << " did not become what it should: " << answer.raw.body;
      return answer;
    }
  }
}

Answer ContractTest::GetUntilGone(std::string_view path) {
  return GetUntil(path, [](const Answer& a) { return a.code == 404; });
}

void ContractTest::CreateCrd(std::string_view yaml) {
  Answer made = Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml);
  ASSERT_EQ(made.code, 201) << made.raw.body;
  const std::string name = made.body["metadata"]["name"].string_value().str();
  Cleanup("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name);
  const std::string group = made.body["spec"]["group"].string_value().str();
  const std::string plural = made.body["spec"]["names"]["plural"].string_value().str();
  for (const Value& version : made.body["spec"]["versions"].list()) {
    if (!version["served"].bool_value()) continue;
    GetUntil("/apis/" + group + "/" + version["name"].string_value().str() + "/" + plural, [](const Answer& a) { return a.code == 200; });
  }
}

// ---- Masks ----

std::string ContractTest::MaskText(std::string text) const {
  static const std::regex kUid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  text = std::regex_replace(text, kUid, "UID");
  ReplaceAll(text, ns_, "{ns}");
  ReplaceAll(text, id_, "{id}");
  if (const std::string& widgets = WidgetGroupOf(GetParam()); !widgets.empty()) ReplaceAll(text, widgets, "{w}");
  ReplaceAll(text, server_->url, "{url}");
  // The place in Go's sources where a table of kinds was made.
  static const std::regex kScheme("in scheme \"[^\"]*\"");
  text = std::regex_replace(text, kScheme, "in scheme SCHEME");
  static const std::regex kRecord("ResourceVersion in record \\([0-9]+\\)");
  text = std::regex_replace(text, kRecord, "ResourceVersion in record (RV)");
  // A patch that gives no object of the kind is answered with the whole text of what it gave.
  static const std::regex kPatched("Invalid value: \"\\{(\\\\.|[^\"\\\\])*\\}\": ");
  text = std::regex_replace(text, kPatched, "Invalid value: \"<what the patch gives>\": ");
  for (const auto& [from, to] : LongTexts()) ReplaceAll(text, from, to);
  return text;
}

Value ContractTest::Mask(const Value& value, bool keep_managed_fields) const {
  if (value.is_string()) return MaskText(value.string_value().str());
  if (value.is_list()) {
    List<Value> out;
    for (const Value& item : value.list()) out.push_back(Mask(item, keep_managed_fields));
    return out;
  }
  if (!value.is_object()) return value;
  Value out = Value::Object();
  for (const auto& [key, member] : value.object()) {
    const std::string_view name = key;
    const bool text = member.is_string() && !member.string_value().empty();
    if (name == "managedFields" && !keep_managed_fields) continue;
    if (name == "resourceVersion" && text) {
      out[name] = "RV";
    } else if (name == "continue" && text) {
      out[name] = "CONTINUE";
    } else if (text && (name == "creationTimestamp" || name == "deletionTimestamp" || name == "lastTransitionTime" ||
                        (name == "time" && value.Find("manager") != nullptr))) {
      out[name] = "TIME";
    } else if (name == "description" && value.Find("format") != nullptr && value.Find("priority") != nullptr) {
      continue;  // of a table's column: prose, in every server's own words
    } else {
      out[MaskText(std::string(name))] = Mask(member, keep_managed_fields);
    }
  }
  return out;
}

Value ContractTest::Normalise(const Value& value, bool keep_managed_fields) { return Mask(value, keep_managed_fields); }

// ---- Expectations ----

namespace {

// What follows these words comes from Go's parsers. The embedded server has parsers of its own, which say it in other words: there the
// text in front of them has to be the same, and something has to follow.
constexpr std::string_view kParserWords[] = {
    "json: ",
    "json parse error: ",
    "yaml: ",
    "error converting YAML",
    "parsing time ",
    "illegal base64 ",
    "quantities must match",
    "unexpected end of JSON",
    "invalid character",
    "found '",
    "<nil>: Invalid value",
    "couldn't get version/kind",
    "proto: ",
    "map: map[",
    "unknown patch type: ",
    "unable to parse quantity",
    "unexpected EOF",
    "time: ",
    "no kind \"",
    "wrong wire type",
    "expected: ",
    "values[0]: Invalid value",
};

Value InOwnWords(const Value& wanted, const Value& actual) {
  if (wanted.is_object() && actual.is_object()) {
    Value out = wanted;
    for (const auto& [key, value] : wanted.object()) {
      const Value* other = actual.Find(key);
      if (other == nullptr) continue;
      if (key != "message" || !value.is_string() || !other->is_string()) {
        out[key] = InOwnWords(value, *other);
        continue;
      }
      const std::string_view text = value.string_value();
      std::size_t at = std::string_view::npos;
      for (std::string_view words : kParserWords) at = std::min(at, text.find(words));
      const std::string_view answer = other->string_value();
      if (at != std::string_view::npos && answer.size() > at && answer.substr(0, at) == text.substr(0, at)) out[key] = *other;
    }
    return out;
  }
  if (wanted.is_list() && actual.is_list() && wanted.list().size() == actual.list().size()) {
    List<Value> out;
    for (std::size_t i = 0; i < wanted.list().size(); ++i) out.push_back(InOwnWords(wanted.list()[i], actual.list()[i]));
    return Value(std::move(out));
  }
  return wanted;
}

}  // namespace

void ContractTest::Compare(const Value& actual, std::string_view yaml, const std::string& raw, const char* file, int line) {
  const std::string key = KeyOf(++expectations_);
  if (server_->oldest() && OldestDifferences().Find(key) != nullptr) yaml = OldestDifferences()[key].string_value().view();
  Result<std::vector<Value>> expected = ParseYaml(yaml);
  if (!expected) {
    ADD_FAILURE_AT(file, line) << "the expectation is no YAML: " << expected.error().ToString();
    return;
  }
  Value wanted = expected->empty() ? Value() : expected->front();
  if (server().embedded()) wanted = InOwnWords(wanted, actual);
  if (wanted == actual) return;
  Value entry = Value::Object({{"yaml", ToYaml(actual)}});
  if (server_->oldest()) {
    entry["key"] = key;
  } else {
    entry["file"] = file;
    entry["line"] = line;
  }
  Record(entry);
  ADD_FAILURE_AT(file, line) << "differs from what is expected (expected -> answered):\n"
                             << ToString(Diff(wanted, actual, {.max_differences = 100})) << "\nThe answer:\n"
                             << ToYaml(actual) << raw;
}

void ContractTest::ExpectStatus(const Answer& answer, std::string_view yaml, const char* file, int line, bool sort_causes) {
  Value actual = Normalise(answer.body);
  for (const auto& [name, common] : std::initializer_list<std::pair<const char*, Value>>{
           {"apiVersion", "v1"}, {"kind", "Status"}, {"metadata", Value::Object()}, {"status", "Failure"}}) {
    if (std::as_const(actual)[name] != common) {
      ADD_FAILURE_AT(file, line) << "not a Status of a failure: HTTP " << answer.code << "\n" << answer.raw.body;
      return;
    }
    actual.MutableObject().Erase(name);
  }
  // The rule for the message is applied to what came before masking, so it is checked in full.
  if (!answer.body["details"]["causes"].list().empty() && answer.body["message"].string_value() == MessageOfCauses(answer.body)) {
    actual["message"] = "<of the causes>";
  }
  if (sort_causes) {
    List<Value>& causes = actual["details"]["causes"].MutableList();
    std::sort(causes.begin(), causes.end(), [](const Value& a, const Value& b) { return ToJson(a) < ToJson(b); });
  }
  Compare(actual, yaml, "", file, line);
  if (answer.code != std::as_const(actual)["code"].int_value()) {
    ADD_FAILURE_AT(file, line) << "HTTP code " << answer.code << " and code " << std::as_const(actual)["code"].int_value();
  }
}

void ContractTest::ExpectBody(const Answer& answer, int code, std::string_view yaml, const char* file, int line) {
  if (answer.code != code) {
    ADD_FAILURE_AT(file, line) << "HTTP code " << answer.code << " instead of " << code << "\n" << answer.raw.body;
    return;
  }
  Compare(Normalise(answer.body), yaml, answer.body.is_null() ? answer.raw.body : "", file, line);
}

void ContractTest::ExpectValue(const Value& value, std::string_view yaml, const char* file, int line, bool keep_managed_fields) {
  Compare(Normalise(value, keep_managed_fields), yaml, "", file, line);
}

void ContractTest::ExpectManagedFields(const Answer& answer, std::string_view yaml, const char* file, int line) {
  const Value masked = Normalise(answer.body["metadata"]["managedFields"], true);
  std::vector<Value> entries(masked.list().begin(), masked.list().end());
  // The server sorts by time first, to the second: two writes may or may not fall into one.
  const auto key = [](const Value& v) {
    return std::make_tuple(v["operation"].string_value().str(), v["manager"].string_value().str(), v["subresource"].string_value().str());
  };
  std::sort(entries.begin(), entries.end(), [&](const Value& a, const Value& b) { return key(a) < key(b); });
  Compare(Value(List<Value>(entries.begin(), entries.end())), yaml, "", file, line);
}

}  // namespace kube::contract
