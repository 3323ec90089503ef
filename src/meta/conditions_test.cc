#include "kube/meta/conditions.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

using meta::v1::Condition;

const Time kEarly = Time::FromUnix(1000);
const Time kNow = Time::FromUnix(2000);
const Time kGiven = Time::FromUnix(1500);

List<Condition> OneReady() {
  return {{.type = "Ready", .status = "True", .observed_generation = 1, .last_transition_time = kEarly, .reason = "Up", .message = "fine"}};
}

TEST(SetStatusConditionTest, AddsWithTheTimeOfNow) {
  List<Condition> conditions;
  EXPECT_TRUE(SetStatusCondition(conditions, {.type = "Ready", .status = "True", .reason = "Up"}, kNow));
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(conditions[0].last_transition_time, kNow);
  EXPECT_TRUE(SetStatusCondition(conditions, {.type = "Stocked", .status = "False", .last_transition_time = kGiven}, kNow));
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[1].last_transition_time, kGiven);
}

TEST(SetStatusConditionTest, ATransitionChangesTheTime) {
  List<Condition> conditions = OneReady();
  EXPECT_TRUE(SetStatusCondition(conditions, {.type = "Ready", .status = "False", .reason = "Down", .message = "why"}, kNow));
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(conditions[0].status, "False");
  EXPECT_EQ(conditions[0].reason, "Down");
  EXPECT_EQ(conditions[0].message, "why");
  EXPECT_EQ(conditions[0].observed_generation, 0);
  EXPECT_EQ(conditions[0].last_transition_time, kNow);
  EXPECT_TRUE(SetStatusCondition(conditions, {.type = "Ready", .status = "True", .last_transition_time = kGiven}, kNow));
  EXPECT_EQ(conditions[0].last_transition_time, kGiven);
}

TEST(SetStatusConditionTest, OtherChangesLeaveTheTimeAlone) {
  List<Condition> conditions = OneReady();
  Condition c = std::as_const(conditions)[0];
  c.last_transition_time = kGiven;
  c.reason = "Other";
  EXPECT_TRUE(SetStatusCondition(conditions, c, kNow));
  c.message = "changed";
  EXPECT_TRUE(SetStatusCondition(conditions, c, kNow));
  c.observed_generation = 9;
  EXPECT_TRUE(SetStatusCondition(conditions, c, kNow));
  EXPECT_EQ(conditions[0].last_transition_time, kEarly);
  EXPECT_EQ(conditions[0].reason, "Other");
  EXPECT_EQ(conditions[0].message, "changed");
  EXPECT_EQ(conditions[0].observed_generation, 9);
}

TEST(SetStatusConditionTest, SaysWhenNothingChangedAndDoesNotCopy) {
  List<Condition> conditions = OneReady();
  const List<Condition> copy = conditions;
  Condition same = copy[0];
  same.last_transition_time = kGiven;  // a new time alone is no change
  EXPECT_FALSE(SetStatusCondition(conditions, same, kNow));
  EXPECT_TRUE(conditions.SharesWith(copy));
  EXPECT_EQ(copy[0].last_transition_time, kEarly);
}

TEST(SetStatusConditionTest, LeavesCopiesAlone) {
  List<Condition> conditions = OneReady();
  const List<Condition> copy = conditions;
  EXPECT_TRUE(SetStatusCondition(conditions, {.type = "Ready", .status = "False"}, kNow));
  EXPECT_EQ(copy[0].status, "True");
}

TEST(RemoveStatusConditionTest, RemovesByType) {
  List<Condition> conditions = OneReady();
  EXPECT_FALSE(RemoveStatusCondition(conditions, "Absent"));
  EXPECT_TRUE(RemoveStatusCondition(conditions, "Ready"));
  EXPECT_TRUE(conditions.empty());
  EXPECT_FALSE(RemoveStatusCondition(conditions, "Ready"));
}

TEST(StatusConditionTest, FindsAndCompares) {
  const List<Condition> conditions = {
      {.type = "A", .status = "True"}, {.type = "B", .status = "False"}, {.type = "C", .status = "Unknown"}};
  ASSERT_NE(FindStatusCondition(conditions, "B"), nullptr);
  EXPECT_EQ(FindStatusCondition(conditions, "B")->status, "False");
  EXPECT_EQ(FindStatusCondition(conditions, "D"), nullptr);
  EXPECT_TRUE(IsStatusConditionTrue(conditions, "A"));
  EXPECT_FALSE(IsStatusConditionTrue(conditions, "B"));
  EXPECT_TRUE(IsStatusConditionFalse(conditions, "B"));
  EXPECT_FALSE(IsStatusConditionFalse(conditions, "C"));
  EXPECT_TRUE(IsStatusConditionPresentAndEqual(conditions, "C", "Unknown"));
  EXPECT_FALSE(IsStatusConditionTrue(conditions, "D"));
  EXPECT_FALSE(IsStatusConditionFalse(conditions, "D"));
}

TEST(StatusConditionTest, FindsInOtherConditionStructs) {
  const List<meta::v1::TableRowCondition> conditions = {{.type = "Completed", .status = "True"}};
  ASSERT_NE(FindCondition(conditions, "Completed"), nullptr);
  EXPECT_EQ(FindCondition(conditions, "Other"), nullptr);
}

}  // namespace
}  // namespace kube
