#include "kube/cache/object.h"

#include <gtest/gtest.h>

#include "kube/api/core/v1.h"
#include "kube/cache/lister.h"

namespace kube::internal {
namespace {

using core::v1::Pod;

TEST(ObjectFormTest, ReadsTypedMetadata) {
  const ObjectForm& form = ObjectForm::Of<Pod>();
  Pod pod;
  pod.metadata.name = "web";
  pod.metadata.namespace_ = "default";
  pod.metadata.resource_version = "7";
  pod.metadata.uid = "u";
  pod.metadata.labels["app"] = "web";
  pod.metadata.annotations["note"] = "x";
  EXPECT_EQ(form.type(), &Pod::kType);
  EXPECT_EQ(form.Key(&pod), (ObjectKey{"default", "web"}));
  EXPECT_EQ(form.ResourceVersion(&pod), "7");
  EXPECT_EQ(form.Uid(&pod), "u");
  EXPECT_EQ(form.Labels(&pod).Get("app"), "web");
  EXPECT_EQ(form.Annotation(&pod, "note"), String("x"));
  EXPECT_EQ(form.Annotation(&pod, "other"), std::nullopt);
}

TEST(ObjectFormTest, ReadsMetadataOfDynamicObjects) {
  const ObjectForm& form = ObjectForm::Of<DynamicObject>();
  DynamicObject cart(Gvk{"example.com", "v1", "Cart"}, {"default", "mine"});
  cart.set_resource_version("9");
  cart.set_uid("u");
  cart.set_label("app", "cart");
  cart.set_annotation("note", "x");
  EXPECT_EQ(form.type(), nullptr);
  EXPECT_EQ(form.Key(&cart), (ObjectKey{"default", "mine"}));
  EXPECT_EQ(form.ResourceVersion(&cart), "9");
  EXPECT_EQ(form.Uid(&cart), "u");
  EXPECT_EQ(form.Labels(&cart).Get("app"), "cart");
  EXPECT_EQ(form.Annotation(&cart, "note"), String("x"));
}

TEST(ObjectFormTest, MakesEmptyObjects) {
  const NewObject made = ObjectForm::Of<Pod>().Make();
  EXPECT_TRUE(ObjectForm::Of<Pod>().Name(made.get()).empty());
}

TEST(ListerTest, MissesReadAsTheServersAnswer) {
  const Error error = NotInCache({"apps", "deployments"}, {"default", "web"});
  EXPECT_TRUE(IsNotFound(error));
  EXPECT_EQ(error.message(), "deployments.apps \"web\" not found");
}

}  // namespace
}  // namespace kube::internal
