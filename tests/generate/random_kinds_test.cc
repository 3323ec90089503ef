// Random objects of the kinds in testdata, typed through their generated tables, on the embedded server and on real ones: valid objects are
// returned as they were sent, with the defaults. Invalid ones are refused by the server and by CrdValidator, with the same messages and
// field paths.
//
// KUBEXX_TEST_SEED=N repeats a run, KUBEXX_OBJECTS_PER_KIND=N says how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "client/server_test_util.h"
#include "command.h"
#include "count_empty.h"
#include "cron/types.h"
#include "gadgets_v1/types.h"
#include "generate/generate.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/base/printable.h"
#include "kube/client/client.h"
#include "kube/codec/yaml.h"
#include "kube/control/crds.h"
#include "kube/queue/parallelize.h"
#include "limits/types.h"
#include "names/types.h"
#include "networks/types.h"
#include "random_resource.h"
#include "testing/temporary_directory.h"
#include "trinkets/types.h"
#include "widgets/types.h"

namespace kube::generate {
namespace {

using apiserver::CrdValidator;
using apiserver::CrdVerdict;

constexpr int kWorkers = 16;

std::size_t ObjectsPerKind() {
  const char* given = std::getenv("KUBEXX_OBJECTS_PER_KIND");
  return given != nullptr ? std::strtoul(given, nullptr, 10) : 200;
}

std::uint64_t Seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("KUBEXX_TEST_SEED");
    const std::uint64_t out = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::cout << "KUBEXX_TEST_SEED=" << out << '\n';
    return out;
  }();
  return seed;
}

// What `kubexx generate` makes of folders of testdata, or why it makes nothing.
struct Generated {
  std::vector<CrdSource> crds;
  std::string problems;
};

Generated GenerateCrds(const std::vector<std::string>& folders, int min_kubernetes) {
  GenerateOptions options{.manifests = "m"};
  for (const std::string& folder : folders) options.headers.push_back("tests/generate/testdata/" + folder);
  options.crd.min_kubernetes = min_kubernetes;
  Problems problems;
  const Output output = Generate(options, problems);
  Generated out{.problems = problems.ToString()};
  if (problems.has_errors()) return out;
  for (const OutputFile& file : output.files) {
    std::vector<CrdSource> parsed = ParseCrds(file.text, file.path).value();
    out.crds.insert(out.crds.end(), parsed.begin(), parsed.end());
  }
  return out;
}

// The messages of the CEL rules in a schema.
void CollectRuleMessages(const Value& schema, std::vector<std::string>& out) {
  for (const Value& rule : schema["x-kubernetes-validations"].list()) {
    const Value* message = rule.Find("message");
    out.push_back((message != nullptr ? *message : rule["rule"]).string_value().str());
  }
  for (const auto& [name, property] : schema["properties"].object()) CollectRuleMessages(property, out);
  for (const char* below : {"items", "additionalProperties"}) {
    if (schema[below].is_object()) CollectRuleMessages(schema[below], out);
  }
}

// `rules`: messages of CEL rules, which only a real server evaluates.
std::vector<std::string> CausesOf(const std::optional<Error>& error, const std::vector<std::string>& rules, bool only_paths) {
  std::vector<std::string> out;
  if (!error) return out;
  for (const ErrorCause& cause : error->causes()) {
    // Only a real server says that it did not evaluate its CEL rules, and that it cannot follow the path of the scale subresource.
    const bool of_rules =
        cause.message.find("some validation rules were not checked") != std::string::npos ||
        std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) { return cause.message.ends_with(": " + rule); });
    const bool of_scale = cause.message.find(" accessor error: ") != std::string::npos;
    if (!of_rules && !of_scale) out.push_back(only_paths ? cause.field : cause.field + ": " + cause.message);
  }
  std::sort(out.begin(), out.end());  // a real server walks maps in any order
  if (only_paths) out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Whether a number is beyond its format. 1.26 does not check it: its validator of numbers is told neither type nor format, so 2147483648.0
// passes as an int32. CrdValidator follows the newest server.
bool IsOfRange(const ErrorCause& cause) {
  return cause.field == "<nil>" && cause.message.find("Checked value must be of type integer ") != std::string::npos;
}

// What 1.26 reports of the causes that CrdValidator finds.
Error WithoutRanges(const Error& error) {
  Error::Payload payload = error.payload();
  std::erase_if(payload.causes, IsOfRange);
  return Error(std::move(payload));
}

// Whether 1.26 refused an update because of a rule that it cannot evaluate: self == oldSelf of an object with a member whose schema has no
// properties, such as disruptionMode of a Job. Nothing is refused at creation, when there is no oldSelf.
bool IsOfRuleBeyondOldest(const Error& error) {
  const std::string_view words =
      "invalid object type, expected either Properties or AdditionalProperties with Allows=true and non-empty Schema evaluating rule: ";
  return !error.causes().empty() && std::all_of(error.causes().begin(), error.causes().end(),
                                                [&](const ErrorCause& cause) { return cause.message.find(words) != std::string::npos; });
}

// A path without its punctuation: servers write the keys of maps in several ways.
std::string Plain(std::string path) {
  std::erase_if(path, [](char c) { return c == '.' || c == '[' || c == ']'; });
  return path;
}

bool Names(const Error& error, const std::string& path) {
  for (const ErrorCause& cause : error.causes()) {
    if (Plain(cause.field) == Plain(path)) return true;
    // A number beyond its type is reported without a path, as real servers do.
    if (cause.field == "<nil>" && cause.message.ends_with(" in " + path)) return true;
  }
  return error.causes().empty();  // a 400 names it in its message, if at all
}

// What a server would say to a create with strict validation of fields.
std::optional<Error> StrictVerdict(const CrdVerdict& verdict) {
  std::string unknown;
  for (const std::string& warning : verdict.warnings) {
    if (warning.starts_with("unknown field")) unknown += (unknown.empty() ? "strict decoding error: " : ", ") + warning;
  }
  if (!unknown.empty()) return Error::Invalid(unknown);
  return verdict.error;
}

Value WithoutMetadata(Value object) {
  for (const char* name : {"apiVersion", "kind", "metadata"}) object.MutableObject().Erase(name);
  return object;
}

// Objects of one kind and how they are made: the same in each run with the seed, whatever the server.
struct Kind {
  Value crd;
  std::string version;
  const TypeInfo* type = nullptr;
  Random random{};

  const Value& Version() const {
    for (const Value& v : crd["spec"]["versions"].list()) {
      if (v["name"].string_value() == version) return v;
    }
    static const Value none;
    return none;
  }
  const Value& Schema() const { return Version()["schema"]["openAPIV3Schema"]; }
  bool HasStatus() const { return Version()["subresources"].Find("status") != nullptr; }
  bool Namespaced() const { return crd["spec"]["scope"].string_value() == "Namespaced"; }
  Gvr Resource() const { return {crd["spec"]["group"].string_value(), String(version), crd["spec"]["names"]["plural"].string_value()}; }

  // The server wants replicas that are not negative, whatever the schema says.
  static void MakePositive(Value& at, std::string_view path) {
    if (path.empty()) {
      if (at.is_int() && at.int_value() < 0) at = -(at.int_value() + 1);
      return;
    }
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('.'));
    if (std::as_const(at).Find(name) != nullptr) MakePositive(at[name], path.substr(name.size()));
  }

  Value Object(const std::string& name, bool typed) {
    Value object = RandomResource(Schema(), typed ? type : nullptr, random);
    for (const char* path : {"specReplicasPath", "statusReplicasPath"})
      MakePositive(object, Version()["subresources"]["scale"][path].string_value());
    object["apiVersion"] = crd["spec"]["group"].string_value().str() + "/" + version;
    object["kind"] = crd["spec"]["names"]["kind"].string_value();
    object["metadata"] = Value::Object({{"name", name}, {"labels", Value::Object({{"test.example.com/run", "a"}})}});
    if (Namespaced()) object["metadata"]["namespace"] = "default";
    return object;
  }

  // One object for each of `count` broken rules; the rules take turns, as far as the objects have them.
  std::vector<BrokenResource> Broken(std::size_t count) {
    std::vector<BrokenResource> out;
    std::map<Rule, std::size_t> used;
    while (out.size() < count) {
      Value object = Object("broken-" + std::to_string(out.size()), false);
      if (HasStatus()) object.MutableObject().Erase("status");  // a create ignores it
      std::vector<BrokenResource> ways = BreakResource(Schema(), object, random);
      if (HasStatus()) std::erase_if(ways, [](const BrokenResource& way) { return way.path.starts_with("status"); });
      Rule rarest = ways[0].rule;
      for (const BrokenResource& way : ways) {
        if (used[way.rule] < used[rarest]) rarest = way.rule;
      }
      std::erase_if(ways, [&](const BrokenResource& way) { return way.rule != rarest; });
      ++used[rarest];
      out.push_back(std::move(ways[static_cast<std::size_t>(random() % ways.size())]));
    }
    return out;
  }
};

class RandomKindsTest : public internal::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient({.warning_handler = [](const ApiWarning&) {}}));
  }
  bool oldest() const { return std::string(GetParam()) == "oldest"; }

  // Installs what folders of testdata define. False if the server is too old for it.
  bool Install(const std::vector<std::string>& folders, std::vector<CrdSource>& crds) {
    const Generated generated = GenerateCrds(folders, oldest() ? 26 : 0);
    if (oldest() && generated.crds.empty()) {
      EXPECT_NE(generated.problems.find("1.26"), std::string::npos) << generated.problems;
      return false;
    }
    EXPECT_FALSE(generated.crds.empty()) << generated.problems;
    const auto installed = InstallCrds(Patient(), *client_, generated.crds);
    EXPECT_TRUE(installed) << installed.error().ToString();
    for (const CrdSource& source : generated.crds) {
      const auto live =
          client_->Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Get(Patient(), {"", source.crd.name()});
      EXPECT_TRUE(live) << live.error().ToString();
      if (!live) continue;
      for (const Value& condition : (*live)["status"]["conditions"].list()) {
        if (condition["type"].string_value() == "NonStructuralSchema") {
          EXPECT_NE(condition["status"].string_value(), "True") << condition["message"].string_value().view();
        }
      }
    }
    crds = generated.crds;
    return true;
  }

  template <typename T>
  void Run(const std::vector<std::string>& folders) {
    std::vector<CrdSource> crds;
    if (!Install(folders, crds)) GTEST_SKIP() << folders[0] << " needs a server newer than 1.26, as kubexx generate says";
    Kind kind{.version = std::string(T::kType.kind->version), .type = &T::kType};
    for (const CrdSource& source : crds) {
      if (source.crd["spec"]["names"]["kind"].string_value() == T::kType.kind->kind) kind.crd = source.crd.value();
    }
    ASSERT_FALSE(kind.crd.is_null());
    kind.random.seed(Seed() + std::hash<std::string_view>()(T::kType.kind->kind));
    SCOPED_TRACE("KUBEXX_TEST_SEED=" + std::to_string(Seed()));
    const CrdValidator validator = CrdValidator::Make(kind.crd).value();
    CheckTyped<T>(kind, validator);
    CheckUntyped(kind, validator);
    CheckBroken(kind, validator);
  }

  template <typename T>
  void CheckTyped(Kind& kind, const CrdValidator& validator) {
    std::vector<T> objects;
    std::vector<Value> sent;
    EmptyCount empty;
    for (std::size_t i = 0; i < ObjectsPerKind(); ++i) {
      const Value given = kind.Object("typed-" + std::to_string(i), true);
      Result<T> object = FromValue<T>(given, {.strict = true});
      ASSERT_TRUE(object) << object.error().ToString() << "\n" << ToJson(given);
      sent.push_back(ToValue(*object).value());
      empty.Add(given, sent.back());
      ASSERT_EQ(LostBy(given, sent.back()), "") << ToJson(given);
      const std::optional<Error> refused = StrictVerdict(validator.Check(sent.back()));
      ASSERT_FALSE(refused) << refused->ToString() << "\n" << ToJson(sent.back());
      objects.push_back(*std::move(object));
    }
    std::cout << GetParam() << " " << T::kType.kind->kind << ": " << empty << " in " << sent.size() << " objects\n";
    std::vector<std::string> failures(objects.size());
    auto work = [&](std::size_t i) {
      Result<T> made = client_->Create(Patient(), objects[i], {.field_validation = "Strict"});
      if (made && kind.HasStatus() && sent[i].Find("status") != nullptr) {
        objects[i].metadata.resource_version = made->metadata.resource_version;
        made = client_->UpdateStatus(Patient(), objects[i], {.field_validation = "Strict"});
      }
      if (!made && oldest() && objects[i].metadata.resource_version.size() > 0 && IsOfRuleBeyondOldest(made.error())) {
        sent[i].MutableObject().Erase("status");
        return;
      }
      if (!made) failures[i] = made.error().ToString() + "\n" + ToJson(sent[i]);
    };
    ASSERT_TRUE(ParallelizeUntil(Patient(), kWorkers, objects.size(), work));
    for (const std::string& failure : failures) ASSERT_EQ(failure, "");
    const Result<ObjectList<T>> list = client_->List<T>(Patient());
    ASSERT_TRUE(list) << list.error().ToString();
    std::map<std::string, const T*> found;
    for (const T& object : list->items) found[object.metadata.name.str()] = &object;
    for (const Value& object : sent) {
      const T* read = found[object["metadata"]["name"].string_value().str()];
      ASSERT_NE(read, nullptr) << ToJson(object["metadata"]);
      const Value now = ToValue(*read).value();
      EXPECT_EQ(DifferenceBeyondDefaults(kind.Schema(), WithoutMetadata(object), WithoutMetadata(now)), "") << ToJson(object) << "\n"
                                                                                                            << ToJson(now);
      EXPECT_EQ(LostBy(object["metadata"], now["metadata"]), "");
      if (HasFailure()) return;
    }
  }

  // Objects that no struct has read: CrdValidator foretells what is stored.
  void CheckUntyped(Kind& kind, const CrdValidator& validator) {
    std::vector<Value> objects;
    for (std::size_t i = 0; i < ObjectsPerKind() / 2; ++i) {
      objects.push_back(kind.Object("untyped-" + std::to_string(i), false));
      const std::optional<Error> refused = StrictVerdict(validator.Check(objects.back()));
      ASSERT_FALSE(refused) << refused->ToString() << "\n" << ToJson(objects.back());
    }
    std::vector<std::string> failures(objects.size());
    auto work = [&](std::size_t i) {
      const auto made = client_->Resource(kind.Resource()).Create(Patient(), DynamicObject(objects[i]), {.field_validation = "Strict"});
      if (!made) {
        failures[i] = made.error().ToString() + "\n" + ToJson(objects[i]);
        return;
      }
      const Value read = WithoutMetadata(made->value()), foretold = WithoutMetadata(validator.Check(objects[i]).object);
      if (!(read == foretold))
        failures[i] = ToJson(objects[i]) + "\nis stored as\n" + ToJson(read) + "\nand foretold as\n" + ToJson(foretold);
      Value expected = WithoutMetadata(objects[i]);
      if (kind.HasStatus()) expected.MutableObject().Erase("status");
      if (std::string d = DifferenceBeyondDefaults(kind.Schema(), expected, read); !d.empty()) failures[i] += d + "\n" + ToJson(objects[i]);
    };
    ASSERT_TRUE(ParallelizeUntil(Patient(), kWorkers, objects.size(), work));
    for (const std::string& failure : failures) ASSERT_EQ(failure, "");
  }

  void CheckBroken(Kind& kind, const CrdValidator& validator) {
    const std::vector<BrokenResource> broken = kind.Broken(ObjectsPerKind());
    std::vector<std::string> failures(broken.size()), rules;
    CollectRuleMessages(kind.Schema(), rules);
    auto work = [&](std::size_t i) { failures[i] = CheckBroken(kind, validator, broken[i], rules); };
    ASSERT_TRUE(ParallelizeUntil(Patient(), kWorkers, broken.size(), work));
    std::map<std::string_view, int> counts;
    for (std::size_t i = 0; i < broken.size(); ++i) {
      ++counts[ToString(broken[i].rule)];
      EXPECT_EQ(failures[i], "") << ToString(broken[i].rule) << " of " << broken[i].path << "\n"
                                 << ToJson(broken[i].object).substr(0, 4000);
    }
    std::cout << GetParam() << " " << kind.crd["spec"]["names"]["kind"].string_value().view() << ": " << broken.size() << " refused:";
    for (const auto& [rule, count] : counts) std::cout << " " << rule << " " << count << ",";
    std::cout << '\n';
  }

  // What is wrong with the answers to an invalid object.
  std::string CheckBroken(const Kind& kind, const CrdValidator& validator, const BrokenResource& broken,
                          const std::vector<std::string>& rules) const {
    const auto made = client_->Resource(kind.Resource()).Create(Patient(), DynamicObject(broken.object), {.field_validation = "Strict"});
    const std::optional<Error> refused = StrictVerdict(validator.Check(broken.object));
    std::string out;
    const bool of_range_alone = refused && !refused->causes().empty() && WithoutRanges(*refused).causes().empty();
    if (made && !(oldest() && of_range_alone)) out += "the server takes it. ";
    if (!refused) out += "CrdValidator takes it. ";
    if (!out.empty()) return out + (refused ? refused->ToString() : "") + (made ? "" : made.error().ToString());
    if (!Names(*refused, broken.path)) out += "CrdValidator does not name the path: " + refused->ToString() + "\n";
    if (made) return out;
    const Error& error = made.error();
    const std::vector<std::string> ours = CausesOf(oldest() ? WithoutRanges(*refused) : *refused, rules, oldest()),
                                   theirs = CausesOf(error, rules, oldest());
    if (ours != theirs) {
      out += "the server says:\n";
      for (const std::string& cause : theirs) out += "  " + cause + "\n";
      out += "CrdValidator says:\n";
      for (const std::string& cause : ours) out += "  " + cause + "\n";
    }
    // Objects of custom resources are decoded before anything else is looked at.
    if (theirs.empty() && !oldest() && error.message().find(refused->message()) == std::string::npos) {
      out += "the server says:\n  " + error.message() + "\nCrdValidator says:\n  " + refused->message();
    }
    return out;
  }

  std::optional<Client> client_;
};

// `kubexx crd validate` of a file with all of them says the same, at the line where each object begins.
TEST(RandomKindsCommandTest, NamesTheFieldOfEachInvalidObject) {
  const auto dir = testing::internal::TemporaryDirectory::Create("kubexx-random").value();
  const Generated generated = GenerateCrds({"cron", "limits", "networks", "trinkets", "widgets"}, 0);
  SCOPED_TRACE("KUBEXX_TEST_SEED=" + std::to_string(Seed()));
  for (const CrdSource& source : generated.crds) {
    Kind kind{.crd = source.crd.value(), .version = source.crd["spec"]["versions"].list()[0]["name"].string_value().str()};
    kind.random.seed(Seed());
    const std::string crd = dir->path() + "/crd.yaml", objects = dir->path() + "/objects.yaml";
    std::ofstream(crd) << ToYaml(source.crd.value());
    const std::vector<BrokenResource> broken = kind.Broken(ObjectsPerKind());
    std::map<std::size_t, const BrokenResource*> by_line;
    std::string text;
    for (const BrokenResource& b : broken) {
      by_line[1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'))] = &b;
      text += "---\n" + ToYaml(b.object);
    }
    std::ofstream(objects) << text;
    std::istringstream in;
    std::ostringstream out, err;
    app::Streams io{in, out, err};
    EXPECT_EQ(app::RunProgram({"crd", "validate", "--strict", crd, objects}, io), app::ExitCode::kFailure);
    EXPECT_EQ(err.str().substr(0, err.str().find(';')).substr(0, err.str().find('\n')),
              std::to_string(broken.size()) + " objects, " + std::to_string(broken.size()) + " invalid");
    std::map<const BrokenResource*, std::string> said;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(objects + ":")) continue;
      const auto found = by_line.find(std::strtoul(line.c_str() + objects.size() + 1, nullptr, 10));
      ASSERT_NE(found, by_line.end()) << line;
      if (line.find(": error: ") != std::string::npos) said[found->second] += line + "\n";
    }
    for (const BrokenResource& b : broken) {
      ASSERT_NE(said[&b], "") << ToString(b.rule) << " of " << b.path << "\n" << ToYaml(b.object);
      // What a server cannot decode has no path. Metadata and embedded resources are decoded.
      if (b.rule == Rule::kMetadata || b.rule == Rule::kEmbedded) continue;
      // The command escapes what a terminal would obey in the keys of maps; control characters may be escaped in the message already.
      const bool plain = std::none_of(b.path.begin(), b.path.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
      if (!plain) continue;
      EXPECT_NE(Plain(said[&b]).find(Plain(Printable(b.path))), std::string::npos) << ToString(b.rule) << " of " << b.path << "\n"
                                                                                   << said[&b];
    }
  }
}

TEST_P(RandomKindsTest, Widgets) { Run<shop::v1::Widget>({"widgets"}); }
TEST_P(RandomKindsTest, Gadgets) { Run<shop::gadgets::v1::Gadget>({"gadgets_v1", "gadgets_v1alpha1"}); }
TEST_P(RandomKindsTest, Limits) { Run<limits::v1::Limit>({"limits"}); }
TEST_P(RandomKindsTest, Networks) { Run<samplecrd::v1::Network>({"networks"}); }
TEST_P(RandomKindsTest, Trinkets) { Run<shop::v1beta1::Trinket>({"trinkets"}); }
TEST_P(RandomKindsTest, CronThings) { Run<cron::v1::CronThing>({"cron"}); }
TEST_P(RandomKindsTest, KindsWithoutFields) { Run<names::v1::NetworkPolicy>({"names"}); }

INSTANTIATE_SERVERS(RandomKindsTest);

}  // namespace
}  // namespace kube::generate
