// What the validation of kinds is made of. Private to builtin/validation*.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/errors.h"
#include "kube/meta/v1.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/quantity.h"
#include "kube/value/string.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver::builtin {

using Errors = std::vector<FieldError>;
using Problems = std::vector<std::string>;

// ---- Paths: "spec.containers[0].name", "data[key]" ----
inline std::string Child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
inline std::string Index(const std::string& path, std::size_t i) { return path + "[" + std::to_string(i) + "]"; }
inline std::string Key(const std::string& path, std::string_view key) { return path + "[" + std::string(key) + "]"; }

// ---- Values as messages show them ----
Value ShownStruct(const TypeInfo& type, const void* object);
template <Described T>
Value Shown(const T& object) {
  return ShownStruct(T::kType, &object);
}
Value Shown(const IntOrString& value);
Value Shown(const List<String>& values);
// An error about a whole struct. A real server shows such structs with all their fields and the names that they have inside the server:
// {"Type":"X","RollingUpdate":null}.
std::string InternalText(const TypeInfo& type, const void* object);
template <Described T>
FieldError WithInternalText(FieldError error, const T& object) {
  error.value = InternalText(T::kType, &object);
  return error;
}

// ---- Checks; each adds to `errors` ----
inline void Add(Errors& errors, Errors more) {
  for (FieldError& e : more) errors.push_back(std::move(e));
}
// One error per problem.
void AddProblems(Errors& errors, const std::string& path, const Value& value, const Problems& problems);
void CheckNonNegative(Errors& errors, const std::string& path, std::int64_t value);
void CheckPositive(Errors& errors, const std::string& path, std::int64_t value);
// A value of the list; an empty one is Required where `required`, else not looked at.
void CheckEnum(Errors& errors, const std::string& path, const String& value, std::initializer_list<const char*> allowed,
               bool required = true);
void CheckPort(Errors& errors, const std::string& path, std::int64_t port);
// A port number or the name of one.
void CheckPortNumberOrName(Errors& errors, const std::string& path, const IntOrString& port);
// "field is immutable" if they differ.
void CheckImmutable(Errors& errors, const std::string& path, const Value& value, bool same);
void CheckLabels(Errors& errors, const std::string& path, const Map<String>& labels);
void CheckSelector(Errors& errors, const std::string& path, const meta::v1::LabelSelector& selector);
bool IsEmptySelector(const meta::v1::LabelSelector& selector);
// An integer that is not negative, or a percentage.
void CheckIntOrPercent(Errors& errors, const std::string& path, const IntOrString& value);
void CheckNotMoreThan100Percent(Errors& errors, const std::string& path, const IntOrString& value);
// Percentage as a number; -1 for anything else.
int PercentOf(const IntOrString& value);

// A webhook's URL, https://host[/path], and its Service.
void CheckWebhookUrl(Errors& errors, const std::string& path, const String& url);
void CheckWebhookService(Errors& errors, const std::string& path, const String& ns, const String& name, std::string_view url_path,
                         std::int64_t port);

// ---- Rules for texts ----
Problems ConfigMapKeyProblems(std::string_view key);
Problems PortNameProblems(std::string_view name);
Problems EnvNameProblems(std::string_view name);
Problems HttpHeaderNameProblems(std::string_view name);
Problems WildcardSubdomainProblems(std::string_view name);

}  // namespace kube::apiserver::builtin
