// Names of other languages as C++ names.
#pragma once

#include <string>
#include <string_view>

namespace kube::generate {

// The member for a JSON or Go name, as kubexx's own structs have it: "podIPs" is pod_ips, "hostPID" host_pid, "x-real-ip" x_real_ip,
// "namespace" namespace_, "3scale" _3scale. Always a valid name of a member of a struct with a table; different names may give equal ones.
std::string MemberName(std::string_view name);

// "certificateRefs" is CertificateRefs, "x-real-ip" XRealIp, "PENDING" Pending, "2.0" 2_0: a part of the name of a type or constant.
// Letters, digits and, between digits, underscores; empty if `name` has none of these.
std::string TypeNamePart(std::string_view name);

// "clauses" is clause, "policies" policy, "addresses" address, "status" status.
std::string SingularOf(std::string_view plural);

// Keywords, and macros of system headers.
bool IsReservedName(std::string_view name);

// "a::b".
bool IsNamespaceName(std::string_view name);

// The namespace of a group: "samplecrd" of samplecrd.k8s.io, "cert_manager" of cert-manager.io.
std::string NamespaceOfGroup(std::string_view group);

}  // namespace kube::generate
