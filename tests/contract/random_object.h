// Random objects of any kind, made from its table: what the round-trip tests decode and encode.
#pragma once

#include "kube/value/any_object.h"
#include "kube/value/value.h"
#include "testing/random_object.h"

namespace kube::contract {

using testing::Random;
using testing::RandomObject;

// True with probability `p`.
bool Chance(Random& random, double p);

// `value` with some members of `other` in the place of its own, at any depth: as a function of a webhook changes an object.
Value Mix(const Value& value, const Value& other, Random& random);

// Adds a member that no table knows to every struct in `json`, which is an object of the given type. Returns how many were added.
int AddUnknownMembers(const TypeInfo& type, Value& json);

// Adds a field that no table knows to every message in the bytes of a message of the given type. Counts in `added`.
std::string AddUnknownFields(const TypeInfo& type, std::string_view message, int& added);

// The field that AddUnknownFields adds, as bytes.
std::string UnknownFieldBytes();

}  // namespace kube::contract
