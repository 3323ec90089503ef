// Random objects of any kind, made from its table: what the round-trip tests decode and encode.
#pragma once

#include <random>

#include "kube/value/any_object.h"
#include "kube/value/value.h"

namespace kube::contract {

using Random = std::mt19937_64;

// Every field may be set, to any value that all encodings can carry.
AnyObject RandomObject(const TypeInfo& type, Random& random);

// Adds a member that no table knows to every struct in `json`, which is an object of the given type. Returns how many were added.
int AddUnknownMembers(const TypeInfo& type, Value& json);

// Adds a field that no table knows to every message in the bytes of a message of the given type. Counts in `added`.
std::string AddUnknownFields(const TypeInfo& type, std::string_view message, int& added);

// The field that AddUnknownFields adds, as bytes.
std::string UnknownFieldBytes();

}  // namespace kube::contract
