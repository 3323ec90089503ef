// Random objects of every kind through every encoding, and fields that no table knows.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kube/api/all.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "random_object.h"

namespace kube::contract {
namespace {

constexpr int kShards = 8;

// How many objects of each kind: a hundred in `make test`, a thousand in `make test-full` (see CMakeLists.txt).
int ObjectsPerKind() {
  const char* given = std::getenv("KUBEXX_OBJECTS_PER_KIND");
  return given != nullptr ? std::atoi(given) : 100;
}

// A run can be repeated: KUBEXX_TEST_SEED=N.
std::uint64_t Seed() {
  const char* given = std::getenv("KUBEXX_TEST_SEED");
  static const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  return seed;
}

bool HasProtobufForm(const TypeInfo& type) { return type.field_count == 0 || type.fields[0].number != 0; }

class RoundTripTest : public ::testing::TestWithParam<int> {
 protected:
  // Calls f for each kind of this shard with its own random source.
  template <typename F>
  void ForEachKind(F f) {
    auto kinds = api::AllKinds();
    for (std::size_t i = static_cast<std::size_t>(GetParam()); i < kinds.size() && !HasFailure(); i += kShards) {
      Random random(Seed() + i);
      SCOPED_TRACE(std::string(kinds[i]->name) + ", KUBEXX_TEST_SEED=" + std::to_string(Seed()));
      f(*kinds[i], random);
    }
  }
};

std::string Json(const AnyObject& object) {
  std::string out;
  auto r = EncodeJson(object.type(), object.data(), out);
  EXPECT_TRUE(r.ok()) << r.error().ToString();
  return out;
}

std::string Protobuf(const AnyObject& object) {
  std::string out;
  auto r = EncodeProtobuf(object.type(), object.data(), out);
  EXPECT_TRUE(r.ok()) << r.error().ToString();
  return out;
}

void ExpectSame(const AnyObject& wanted, const AnyObject& got, const Result<void>& decoded, std::string_view how, std::string_view text) {
  ASSERT_TRUE(decoded.ok()) << how << ": " << decoded.error().ToString() << '\n' << text;
  EXPECT_TRUE(wanted == got) << how << '\n' << ToString(Diff(wanted.type(), wanted.data(), got.data())) << '\n' << text;
}

TEST_P(RoundTripTest, RandomObjectsSurviveEveryEncoding) {
  ForEachKind([](const TypeInfo& type, Random& random) {
    Interner interner;
    for (int i = 0; i < ObjectsPerKind() && !::testing::Test::HasFailure(); ++i) {
      AnyObject object = RandomObject(type, random);
      AnyObject from_json(type), from_yaml(type), from_protobuf(type), shared(type);
      std::string json = Json(object);
      ExpectSame(object, from_json, DecodeJson(type, from_json.mutable_data(), json, {.strict = true}), "JSON", json);
      ExpectSame(object, shared, DecodeJson(type, shared.mutable_data(), json, {.interner = &interner}), "JSON with interner", json);
      EXPECT_EQ(HashObject(type, object.data()), HashObject(type, from_json.data()));
      std::string yaml;
      auto written = EncodeYaml(type, object.data(), yaml);
      ASSERT_TRUE(written.ok()) << written.error().ToString();
      ExpectSame(object, from_yaml, DecodeYaml(type, from_yaml.mutable_data(), yaml, {.strict = true}), "YAML", yaml);
      if (!HasProtobufForm(type)) continue;
      std::string bytes = Protobuf(object);
      AnyObject shared_too(type);
      ExpectSame(object, from_protobuf, DecodeProtobuf(type, from_protobuf.mutable_data(), bytes, {.strict = true}), "protobuf", json);
      ExpectSame(object, shared_too, DecodeProtobuf(type, shared_too.mutable_data(), bytes, {.interner = &interner}),
                 "protobuf with interner", json);
    }
  });
}

TEST_P(RoundTripTest, UnknownFieldsSurviveAtEveryLevel) {
  ForEachKind([](const TypeInfo& type, Random& random) {
    for (int i = 0; i < 10 && !::testing::Test::HasFailure(); ++i) {
      AnyObject object = RandomObject(type, random);
      auto wanted = ToValue(type, object.data());
      ASSERT_TRUE(wanted.ok()) << wanted.error().ToString();
      ASSERT_GT(AddUnknownMembers(type, *wanted), 0);
      AnyObject from_json(type), from_yaml(type);
      auto j = DecodeJson(type, from_json.mutable_data(), ToJson(*wanted));
      ASSERT_TRUE(j.ok()) << j.error().ToString();
      auto from = ToValue(type, from_json.data());
      ASSERT_TRUE(from.ok()) << from.error().ToString();
      EXPECT_TRUE(*from == *wanted) << ToString(Diff(*wanted, *from));
      auto y = DecodeYaml(type, from_yaml.mutable_data(), ToYaml(*wanted));
      ASSERT_TRUE(y.ok()) << y.error().ToString();
      EXPECT_TRUE(from_json == from_yaml);
      EXPECT_FALSE(DecodeJson(type, AnyObject(type).mutable_data(), ToJson(*wanted), {.strict = true}).ok());

      if (!HasProtobufForm(type)) continue;
      std::string plain;
      ASSERT_TRUE(EncodeProtobuf(type, object.data(), plain, {.envelope = false}).ok());
      int added = 0;
      std::string with_unknown = AddUnknownFields(type, plain, added);
      AnyObject first(type), again(type);
      ASSERT_TRUE(DecodeProtobuf(type, first.mutable_data(), with_unknown).ok());
      std::string out;
      ASSERT_TRUE(EncodeProtobuf(type, first.data(), out, {.envelope = false}).ok());
      ASSERT_TRUE(DecodeProtobuf(type, again.mutable_data(), out).ok());
      EXPECT_TRUE(first == again);
      int found = 0;
      std::string mark = UnknownFieldBytes();
      for (std::size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + 1)) ++found;
      EXPECT_EQ(found, added);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllKinds, RoundTripTest, ::testing::Range(0, kShards));

}  // namespace
}  // namespace kube::contract
