// All of kubexx except the kinds of the API: what small programs and examples include.
//
//   #include <kube/kube.h>
//   #include <kube/api/apps/v1.h>      // one header per group and version, as needed
//
// Larger programs include the headers that they use, and compile faster.
#pragma once

#include "kube/base/backoff.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/error.h"
#include "kube/base/gate.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"
#include "kube/base/thread.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/meta.h"
#include "kube/value/box.h"
#include "kube/value/chrono.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/quantity.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/value.h"
#include "kube/version.h"
