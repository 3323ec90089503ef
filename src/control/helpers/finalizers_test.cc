#include "kube/control/finalizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "control/helpers/desired_test_util.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FinalizerTest, AddHasAndRemoveOnTypedObjects) {
  ConfigMap map;
  EXPECT_FALSE(HasFinalizer(map, "a.io/x"));
  EXPECT_TRUE(AddFinalizer(map, "a.io/x"));
  EXPECT_TRUE(AddFinalizer(map, "a.io/y"));
  EXPECT_FALSE(AddFinalizer(map, "a.io/x"));
  EXPECT_TRUE(HasFinalizer(map, "a.io/x"));
  EXPECT_THAT(map.metadata.finalizers, ElementsAre("a.io/x", "a.io/y"));
  EXPECT_TRUE(RemoveFinalizer(map, "a.io/x"));
  EXPECT_FALSE(RemoveFinalizer(map, "a.io/x"));
  EXPECT_THAT(map.metadata.finalizers, ElementsAre("a.io/y"));
}

TEST(FinalizerTest, AddHasAndRemoveOnDynamicObjects) {
  DynamicObject object(Gvk{"", "v1", "ConfigMap"}, {"default", "x"});
  EXPECT_TRUE(AddFinalizer(object, "a.io/x"));
  EXPECT_FALSE(AddFinalizer(object, "a.io/x"));
  EXPECT_TRUE(HasFinalizer(object, "a.io/x"));
  EXPECT_TRUE(RemoveFinalizer(object, "a.io/x"));
  EXPECT_FALSE(HasFinalizer(object, "a.io/x"));
}

TEST(FinalizerTest, NothingIsCopiedWhereNothingChanges) {
  ConfigMap map;
  AddFinalizer(map, "a.io/x");
  const ConfigMap copy = map;
  AddFinalizer(map, "a.io/x");
  RemoveFinalizer(map, "a.io/other");
  EXPECT_TRUE(map.metadata.finalizers.SharesWith(copy.metadata.finalizers));
}

class FinalizersTest : public HelperTest {
 protected:
  // Two finalizers that write down when they are called; "release" does as `release_` says.
  Finalizers<ConfigMap> Both() {
    return Finalizers<ConfigMap>()
        .Add("example.com/z-first",
             [this](const Context&, const ConfigMap& map) -> Result<void> {
               calls_.push_back("first " + map.metadata.name.str());
               return {};
             })
        .Add("example.com/a-second", [this](const Context&, const ConfigMap&) -> Result<void> {
          calls_.push_back("second");
          return second_;
        });
  }
  ConfigMap Deleted(ConfigMap map) {
    EXPECT_TRUE(client_->Delete<ConfigMap>(Soon(), KeyOf(map)));
    requests_->Take();
    return client_->Get<ConfigMap>(Soon(), KeyOf(map)).value();
  }
  ConfigMap WithFinalizers() {
    ConfigMap map = MakeMap("x");
    map.metadata.finalizers = {"example.com/z-first", "example.com/a-second"};
    return Created(map);
  }

  std::vector<std::string> calls_;
  Result<void> second_{};
};

TEST_F(FinalizersTest, ALiveObjectGetsAllOfThemInOneWrite) {
  ConfigMap map = MakeMap("x");
  map.metadata.finalizers = {"example.com/theirs"};
  map = Created(map);
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_TRUE(r->proceed);
  EXPECT_TRUE(r->changed);
  EXPECT_THAT(map.metadata.finalizers, ElementsAre("example.com/theirs", "example.com/z-first", "example.com/a-second"));
  EXPECT_THAT(requests_->Take(), ElementsAre("PATCH"));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(FinalizersTest, ALiveObjectThatHasThemCostsNoRequest) {
  ConfigMap map = WithFinalizers();
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->proceed);
  EXPECT_FALSE(r->changed);
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(FinalizersTest, AnOldObjectIsAConflict) {
  ConfigMap map = Created(MakeMap("x"));
  ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), KeyOf(map), Patch::Merge(R"({"data":{"a":"b"}})")));
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_FALSE(r);
  EXPECT_TRUE(IsConflict(r.error())) << r.error().ToString();
}

TEST_F(FinalizersTest, CallbacksRunInTheirOrderAndTheObjectGoes) {
  ConfigMap map = Deleted(WithFinalizers());
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_FALSE(r->proceed);
  EXPECT_THAT(calls_, ElementsAre("first x", "second"));
  EXPECT_THAT(r->finished, ElementsAre("example.com/z-first", "example.com/a-second"));
  EXPECT_TRUE(IsNotFound(client_->Get<ConfigMap>(Soon(), KeyOf(map)).error()));
}

TEST_F(FinalizersTest, TheFirstErrorEndsTheRunAndNamesTheFinalizer) {
  ConfigMap map = Deleted(WithFinalizers());
  second_ = Error::Timeout("bucket is not empty");
  Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().ToString(), "finalizer example.com/a-second of default/x: bucket is not empty");
  // The first one stays done.
  map = client_->Get<ConfigMap>(Soon(), KeyOf(map)).value();
  EXPECT_THAT(map.metadata.finalizers, ElementsAre("example.com/a-second"));
  second_ = {};
  calls_.clear();
  r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r);
  EXPECT_THAT(calls_, ElementsAre("second"));
}

TEST_F(FinalizersTest, FinalizersOfOthersStay) {
  ConfigMap map = MakeMap("x");
  map.metadata.finalizers = {"example.com/theirs", "example.com/z-first"};
  map = Deleted(Created(map));
  ASSERT_TRUE(Both().Run(Soon(), *client_, map));
  EXPECT_THAT(client_->Get<ConfigMap>(Soon(), KeyOf(map))->metadata.finalizers, ElementsAre("example.com/theirs"));
  // And nothing is left to do for us, nor is a finalizer added to what is going.
  requests_->Take();
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->proceed);
  EXPECT_FALSE(r->changed);
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(FinalizersTest, AWriteInBetweenDoesNotMakeTheWorkBeDoneTwice) {
  ConfigMap map = Deleted(WithFinalizers());
  ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), KeyOf(map), Patch::Merge(R"({"data":{"a":"b"}})")));
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_THAT(calls_, ElementsAre("first x", "second"));
  EXPECT_TRUE(IsNotFound(client_->Get<ConfigMap>(Soon(), KeyOf(map)).error()));
}

TEST_F(FinalizersTest, AnObjectThatIsGoneAlreadyIsFine) {
  ConfigMap map = Deleted(WithFinalizers());
  ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), KeyOf(map), Patch::Merge(R"({"metadata":{"finalizers":null}})")));
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_FALSE(r->proceed);
}

TEST_F(FinalizersTest, AnotherObjectOfTheNameIsNotTouched) {
  ConfigMap map = Deleted(WithFinalizers());
  ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), KeyOf(map), Patch::Merge(R"({"metadata":{"finalizers":null}})")));
  const ConfigMap anew = WithFinalizers();
  const Result<FinalizerResult> r = Both().Run(Soon(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_EQ(client_->Get<ConfigMap>(Soon(), KeyOf(map)).value().metadata.resource_version, anew.metadata.resource_version);
}

TEST_F(FinalizersTest, AnExceptionIsAnError) {
  ConfigMap map = MakeMap("x");
  map.metadata.finalizers = {"example.com/throws"};
  map = Deleted(Created(map));
  Finalizers<ConfigMap> finalizers;
  finalizers.Add("example.com/throws", [](const Context&, const ConfigMap&) -> Result<void> { throw std::runtime_error("boom"); });
  const Result<FinalizerResult> r = finalizers.Run(Soon(), *client_, map);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().kind(), ErrorKind::kUserCode);
  EXPECT_THAT(r.error().ToString(), HasSubstr("finalizer example.com/throws of default/x: it threw: boom"));
}

TEST_F(FinalizersTest, AnErrorThatIsThrownCountsAsReturned) {
  ConfigMap map = MakeMap("x");
  map.metadata.finalizers = {"example.com/throws"};
  map = Deleted(Created(map));
  Finalizers<ConfigMap> finalizers;
  finalizers.Add("example.com/throws", [](const Context&, const ConfigMap&) -> Result<void> {
    Result<void>(Error::Timeout("too slow")).value();
    return {};
  });
  const Result<FinalizerResult> r = finalizers.Run(Soon(), *client_, map);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(r.error().ToString(), HasSubstr("finalizer example.com/throws of default/x: too slow"));
}

TEST_F(FinalizersTest, NamesAreChecked) {
  ConfigMap map = Created(MakeMap("x"));
  const auto nothing = [](const Context&, const ConfigMap&) -> Result<void> { return {}; };
  EXPECT_THAT(Finalizers<ConfigMap>().Add("short", nothing).Run(Soon(), *client_, map).error().message(), HasSubstr("needs a domain"));
  EXPECT_THAT(Finalizers<ConfigMap>().Add("a.io/x", nothing).Add("a.io/x", nothing).Run(Soon(), *client_, map).error().message(),
              HasSubstr("twice"));
  EXPECT_FALSE(Finalizers<ConfigMap>().Add("a.io/x y", nothing).Run(Soon(), *client_, map));
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(FinalizersTest, WorksOnDynamicObjects) {
  const ResourceClient<DynamicObject> maps = client_->Resource(Gvr{"", "v1", "configmaps"});
  Created(MakeMap("x"));
  int calls = 0;
  Finalizers<DynamicObject> finalizers;
  finalizers.Add("example.com/x", [&](const Context&, const DynamicObject&) -> Result<void> {
    ++calls;
    return {};
  });
  DynamicObject map = maps.Get(Soon(), {"default", "x"}).value();
  EXPECT_TRUE(finalizers.Run(Soon(), maps, map)->proceed);
  ASSERT_TRUE(maps.Delete(Soon(), {"default", "x"}));
  map = maps.Get(Soon(), {"default", "x"}).value();
  EXPECT_FALSE(finalizers.Run(Soon(), maps, map)->proceed);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(IsNotFound(maps.Get(Soon(), {"default", "x"}).error()));
}

}  // namespace
}  // namespace kube::internal
