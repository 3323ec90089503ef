// The protobuf form of an OpenAPI v2 document, which client-go's OpenAPISchema asks for: messages of the package openapi.v2 (gnostic).
#pragma once

#include <string>

#include "kube/value/value.h"

namespace kube::apiserver {

inline constexpr const char* kOpenApiV2Accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
inline constexpr const char* kOpenApiV2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// `document` is what OpenApiV2Document gives. Members that have no field there are left out.
std::string ToOpenApiProtobuf(const Value& document);

}  // namespace kube::apiserver
