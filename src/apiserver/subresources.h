// Subresources that are not a plain read or write of their object, and kinds that are answered without being stored.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "apiserver/core.h"
#include "apiserver/tokens.h"
#include "kube/base/result.h"

namespace kube::apiserver {

// scale of Deployments, ReplicaSets, StatefulSets, ReplicationControllers and custom resources.
Result<Answer> GetScale(ApiCore& core, Call& call);
Result<Answer> WriteScale(ApiCore& core, Call& call, bool patch);

// pods/eviction, pods/binding and bindings, serviceaccounts/token.
Result<Answer> CreateEviction(ApiCore& core, Call& call);
Result<Answer> CreateBinding(ApiCore& core, Call& call);
Result<Answer> CreateToken(ApiCore& core, Call& call, Tokens& tokens);

// The webhooks for exec, attach and port-forward. If they change container or command, that is put into the query of `call`.
Result<void> AdmitConnect(ApiCore& core, Call& call);

// TokenReview, SelfSubjectReview and the access reviews. Every authenticated user may do everything: there is no RBAC yet.
// A token of a service account is good while the account exists.
bool AccountExists(const ApiCore& core, const User& user);
bool IsReview(const ServedResource& resource);
Result<Answer> CreateReview(ApiCore& core, Call& call, Tokens& tokens);

}  // namespace kube::apiserver
