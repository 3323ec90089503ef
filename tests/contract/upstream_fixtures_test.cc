// Every kind of upstream's fixtures, in all three encodings.
#include <gtest/gtest.h>

#include <map>

#include "kube/api/all.h"
#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"
#include "upstream_fixtures.h"

namespace kube::contract {
namespace {

class UpstreamFixturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Fixtures& fixtures = UpstreamFixtures();
    if (fixtures.folder.empty() && fixtures.why_missing.starts_with("no Go toolchain")) GTEST_SKIP() << fixtures.why_missing;
    ASSERT_FALSE(fixtures.folder.empty()) << fixtures.why_missing;
    folder_ = fixtures.folder;
    for (const TypeInfo* type : api::AllKinds()) types_[ApiVersionAndKind(*type->kind)] = type;
  }

  static std::string ApiVersionAndKind(const KindInfo& k) {
    return std::string(k.group) + (k.group.empty() ? "" : "/") + std::string(k.version) + ' ' + std::string(k.kind);
  }

  // The table of the object in a fixture's JSON.
  const TypeInfo* TypeOf(const std::string& name, const Value& json) const {
    if (name == "core.v1.WatchEvent") return &meta::v1::WatchEvent::kType;  // the one kind that does not say so in its JSON
    auto found = types_.find(json["apiVersion"].string_value().str() + ' ' + json["kind"].string_value().str());
    return found == types_.end() ? nullptr : found->second;
  }

  std::filesystem::path folder_;
  std::map<std::string, const TypeInfo*> types_;
};

std::string Bytes(const TypeInfo& type, const AnyObject& object) {
  std::string out;
  auto r = EncodeProtobuf(type, object.data(), out, {.envelope = type.kind != nullptr});
  EXPECT_TRUE(r.ok()) << type.name << ": " << r.error().ToString();
  return out;
}

TEST_F(UpstreamFixturesTest, EveryKindIsTheSameInJsonYamlAndProtobuf) {
  auto head = folder_ / "HEAD";
  auto names = FixtureNames(head, ".json");
  EXPECT_EQ(names.size(), 193U);
  std::size_t good = 0;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    std::string json_text = ReadFile(head / (name + ".json"));
    auto json = ParseJson(json_text);
    ASSERT_TRUE(json.ok()) << json.error().ToString();
    const TypeInfo* type = TypeOf(name, *json);
    if (type == nullptr) {
      ADD_FAILURE() << "no table for this kind";
      continue;
    }
    AnyObject from_json(*type), from_yaml(*type), from_protobuf(*type), again(*type);
    // Strict: a field that no table knows is a failure here.
    auto r = DecodeJson(*type, from_json.mutable_data(), json_text, {.strict = true});
    EXPECT_TRUE(r.ok()) << r.error().ToString();
    auto y = DecodeYaml(*type, from_yaml.mutable_data(), ReadFile(head / (name + ".yaml")), {.strict = true});
    EXPECT_TRUE(y.ok()) << y.error().ToString();
    auto p = DecodeProtobuf(*type, from_protobuf.mutable_data(), ReadFile(head / (name + ".pb")), {.strict = true});
    EXPECT_TRUE(p.ok()) << p.error().ToString();

    EXPECT_TRUE(from_json == from_yaml) << ToString(Diff(*type, from_json.data(), from_yaml.data()));
    EXPECT_TRUE(from_json == from_protobuf) << ToString(Diff(*type, from_json.data(), from_protobuf.data()));

    auto value = ToValue(*type, from_protobuf.data());
    ASSERT_TRUE(value.ok()) << value.error().ToString();
    EXPECT_TRUE(*value == *json) << ToString(Diff(*json, *value));

    auto b = DecodeProtobuf(*type, again.mutable_data(), Bytes(*type, from_json));
    EXPECT_TRUE(b.ok()) << b.error().ToString();
    EXPECT_TRUE(again == from_json) << ToString(Diff(*type, from_json.data(), again.data()));
    if (!HasFailure()) ++good;
  }
  std::printf("%zu of %zu kinds equal in JSON, YAML and protobuf\n", good, names.size());
}

TEST_F(UpstreamFixturesTest, FixturesOfOlderReleasesDecode) {
  std::size_t decoded = 0;
  for (const auto& release : std::filesystem::directory_iterator(folder_)) {
    if (!release.is_directory() || release.path().filename() == "HEAD") continue;
    for (const char* suffix : {".json", ".yaml", ".pb"}) {
      for (const std::string& name : FixtureNames(release.path(), suffix)) {
        SCOPED_TRACE(release.path().filename().string() + '/' + name + suffix);
        // A kind that upstream has removed since has no table: its fixture is an unknown kind to this build.
        std::filesystem::path json_file = release.path() / (name + ".json");
        if (!std::filesystem::exists(json_file)) continue;
        auto json = ParseJson(ReadFile(json_file));
        ASSERT_TRUE(json.ok()) << json.error().ToString();
        const TypeInfo* type = TypeOf(name, *json);
        if (type == nullptr) {
          std::printf("%s %s: not in this release any more\n", release.path().filename().c_str(), name.c_str());
          continue;
        }
        AnyObject object(*type);
        std::string text = ReadFile(release.path() / (name + suffix));
        auto r = suffix == std::string(".pb")     ? DecodeProtobuf(*type, object.mutable_data(), text)
                 : suffix == std::string(".yaml") ? DecodeYaml(*type, object.mutable_data(), text)
                                                  : DecodeJson(*type, object.mutable_data(), text);
        EXPECT_TRUE(r.ok()) << r.error().ToString();
        ++decoded;
      }
    }
  }
  EXPECT_GT(decoded, 500U);
  std::printf("%zu older fixtures decoded\n", decoded);
}

}  // namespace
}  // namespace kube::contract
