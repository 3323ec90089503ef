// The patch of a mutating webhook, for random objects of every kind: applied to the JSON that the server has, it gives the object that the
// function made, and it leaves alone what the function did not change.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kube/api/admission/v1.h"
#include "kube/api/all.h"
#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "random_object.h"
#include "webhook/review.h"

namespace kube::contract {
namespace {

constexpr int kShards = 4;

int ObjectsPerKind() {
  const char* given = std::getenv("KUBEXX_OBJECTS_PER_KIND");
  return given != nullptr ? std::atoi(given) : 10;
}

// A run can be repeated: KUBEXX_TEST_SEED=N.
std::uint64_t Seed() {
  const char* given = std::getenv("KUBEXX_TEST_SEED");
  static const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  return seed;
}

// What servers and other clients write for fields without a value, which decoding drops.
void AddNulls(const TypeInfo& type, Value& json, Random& random) {
  if (!json.is_object() || type.form != TypeForm::kStruct) return;
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) continue;
    if (json.Find(field.json_name) == nullptr) {
      if (Chance(random, 0.2)) json[field.json_name] = Value();
      continue;
    }
    if (field.kind != FieldKind::kMessage) continue;
    Value& member = json[field.json_name];
    if (field.shape == FieldShape::kPlain || field.shape == FieldShape::kOptional) AddNulls(*field.type, member, random);
    if (field.shape == FieldShape::kList && member.is_list()) {
      for (Value& item : member.MutableList()) AddNulls(*field.type, item, random);
    }
  }
}

std::string ReviewOf(const std::string& object) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE","object":)" + object +
         "}}";
}

// The patch that a webhook with this function sends; null if it sends none.
Value PatchOf(const TypeInfo& type, const std::string& object, const std::function<void(void*)>& change) {
  internal::AdmissionFunctions functions{.type = &type};
  functions.mutate = [&](const Context&, const AdmissionRequest&, void* at) -> Admission {
    change(at);
    return {};
  };
  const WebhookAnswer answer = internal::ServeAdmission(functions, internal::AdmissionRole::kMutate, AdmissionOperation::kCreate,
                                                        Context::Background(), ReviewOf(object));
  EXPECT_EQ(answer.code, 200) << answer.body;
  const Result<admission::v1::AdmissionReview> review = FromJson<admission::v1::AdmissionReview>(answer.body);
  EXPECT_TRUE(review.ok() && review->response->allowed) << answer.body;
  if (!review || review->response->patch.empty()) return {};
  Result<Value> patch = ParseJson(review->response->patch.view());
  EXPECT_TRUE(patch.ok());
  return patch ? *patch : Value();
}

class WebhookPatchTest : public ::testing::TestWithParam<int> {};

TEST_P(WebhookPatchTest, GivesTheFunctionsObjectAndTouchesNothingElse) {
  const auto kinds = api::AllKinds();
  int patches = 0;
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < kinds.size() && !HasFailure(); i += kShards) {
    const TypeInfo& type = *kinds[i];
    if (type.kind->is_list) continue;
    Random random(Seed() + i);
    SCOPED_TRACE(std::string(type.name) + ", KUBEXX_TEST_SEED=" + std::to_string(Seed()));
    for (int n = 0; n < ObjectsPerKind() && !HasFailure(); ++n) {
      Result<Value> document = ToValue(type, RandomObject(type, random).data());
      ASSERT_TRUE(document.ok());
      AddNulls(type, *document, random);
      if (Chance(random, 0.5)) AddUnknownMembers(type, *document);
      const std::string text = ToJson(*document, {.indent = n % 3});
      EXPECT_TRUE(PatchOf(type, text, [](void*) {}).is_null()) << "decoding alone made a patch\n" << text;

      AnyObject before(type);
      ASSERT_TRUE(DecodeJson(type, before.mutable_data(), text).ok());
      const Result<Value> from = ToValue(type, before.data());
      const Result<Value> other = ToValue(type, RandomObject(type, random).data());
      ASSERT_TRUE(from.ok() && other.ok());
      AnyObject after(type);
      // A mix need not fit the table: a list of numbers may get a string.
      if (!DecodeValue(type, after.mutable_data(), Mix(*from, *other, random)).ok()) continue;
      const Value patch = PatchOf(type, text, [&](void* at) {
        internal::DestroyObject(type, at);
        internal::CopyObject(type, at, after.data());
      });
      if (patch.is_null()) {
        EXPECT_TRUE(before == after) << "a change was lost\n" << ToString(Diff(type, before.data(), after.data()));
        continue;
      }
      ++patches;
      const Result<Value> patched = ApplyJsonPatch(*document, patch, {.max_operations = 1'000'000});
      ASSERT_TRUE(patched.ok()) << patched.error().ToString() << '\n' << ToJson(patch) << '\n' << text;
      AnyObject got(type);
      const Result<void> decoded = DecodeJson(type, got.mutable_data(), ToJson(*patched));
      ASSERT_TRUE(decoded.ok()) << decoded.error().ToString();
      EXPECT_TRUE(got == after) << ToString(Diff(type, after.data(), got.data())) << '\n' << ToJson(patch) << '\n' << text;
      // Members that are the same before and after are as the document has them, nulls included.
      const Result<Value> to = ToValue(type, after.data());
      ASSERT_TRUE(to.ok());
      for (const auto& [key, member] : document->object()) {
        const Value* was = from->Find(key);
        const Value* is = to->Find(key);
        if ((was == nullptr) != (is == nullptr) || (was != nullptr && !(*was == *is))) continue;
        const Value* now = patched->Find(key);
        EXPECT_TRUE(now != nullptr && *now == member) << key.view() << " was touched\n" << ToJson(patch);
      }
    }
  }
  EXPECT_GT(patches, 0);
}
INSTANTIATE_TEST_SUITE_P(AllKinds, WebhookPatchTest, ::testing::Range(0, kShards));

}  // namespace
}  // namespace kube::contract
