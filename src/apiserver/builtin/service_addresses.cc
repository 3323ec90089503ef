#include "apiserver/builtin/service_addresses.h"

#include <arpa/inet.h>

#include <string>

namespace kube::apiserver::builtin {
namespace {

bool ParsesAs(int family, std::string_view text) {
  unsigned char bytes[16];
  return text.find('\0') == std::string_view::npos && inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

Value ListValue(const List<String>& texts) {
  Value out = Value::Array();
  for (const String& t : texts) out.MutableList().push_back(t);
  return out;
}

std::string At(const char* field, std::size_t i) { return std::string(field) + "[" + std::to_string(i) + "]"; }

}  // namespace

bool IsIpv4(std::string_view text) { return ParsesAs(AF_INET, text); }
bool IsIpv6(std::string_view text) { return ParsesAs(AF_INET6, text); }

std::vector<FieldError> ValidateServiceAddresses(const core::v1::Service& service, const core::v1::Service* old) {
  const core::v1::ServiceSpec& spec = service.spec;
  std::vector<FieldError> errors;
  if (spec.type == "ExternalName") return errors;

  const char* const ips = "spec.clusterIPs";
  auto bad_ips = [&](const char* why) { errors.push_back(InvalidValue(ips, ListValue(spec.cluster_ips), why)); };
  if (!spec.cluster_ip.empty()) {
    if (spec.cluster_ips.empty()) {
      errors.push_back(Required(ips));
    } else if (!(spec.cluster_ips[0] == spec.cluster_ip)) {
      bad_ips("first value must match `clusterIP`");
    }
  } else if (!spec.cluster_ips.empty()) {
    bad_ips("must be empty when `clusterIP` is not specified");
  }

  for (std::size_t i = 0; i < spec.ip_families.size(); ++i) {
    const String& family = spec.ip_families[i];
    if (family != "IPv4" && family != "IPv6") errors.push_back(NotSupported(At("spec.ipFamilies", i), family, {"IPv4", "IPv6"}));
    for (std::size_t j = 0; j < i; ++j) {
      if (!(spec.ip_families[j] == family)) continue;
      errors.push_back(DuplicateValue(At("spec.ipFamilies", i), family));
      break;
    }
  }
  if (spec.ip_family_policy.has_value()) {
    const String& policy = *spec.ip_family_policy;
    if (policy != "PreferDualStack" && policy != "RequireDualStack" && policy != "SingleStack") {
      errors.push_back(NotSupported("spec.ipFamilyPolicy", policy, {"PreferDualStack", "RequireDualStack", "SingleStack"}));
    }
  }

  bool has_invalid = false;
  for (std::size_t i = 0; i < spec.cluster_ips.size(); ++i) {
    const String& ip = spec.cluster_ips[i];
    if (i == 0 && ip == "None") {
      if (spec.cluster_ips.size() > 1) {
        has_invalid = true;
        bad_ips("'None' must be the first and only value");
      }
      continue;
    }
    bool was_there = false;
    if (old != nullptr) {
      for (const String& before : old->spec.cluster_ips) was_there = was_there || before == ip;
    }
    if (was_there || IsIpv4(ip) || IsIpv6(ip)) continue;
    has_invalid = true;
    errors.push_back(InvalidValue(At(ips, i), ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
  if (spec.cluster_ips.size() > 2) bad_ips("may only hold up to 2 values");
  if (has_invalid) return errors;

  if (spec.cluster_ips.size() > 1) {
    bool four = false, six = false;
    for (const String& ip : spec.cluster_ips) (IsIpv6(ip) ? six : four) = true;
    if (!four || !six) bad_ips("may specify no more than one IP for each IP family");
  }
  if (spec.cluster_ip == "None") return errors;
  for (std::size_t i = 0; i < spec.cluster_ips.size() && i < spec.ip_families.size(); ++i) {
    const String& ip = spec.cluster_ips[i];
    const String& family = spec.ip_families[i];
    bool six = IsIpv6(ip);
    if ((family == "IPv4" && six) || (family == "IPv6" && !six)) {
      errors.push_back(
          InvalidValue(At(ips, i), ip, "expected an " + family.str() + " value as indicated by `ipFamilies[" + std::to_string(i) + "]`"));
    }
  }
  return errors;
}

}  // namespace kube::apiserver::builtin
