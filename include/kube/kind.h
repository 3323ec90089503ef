// Included by headers of custom kinds: the field types, ObjectMeta, and the macros of kube/value/table.h.
#pragma once

#include "kube/meta/v1.h"
#include "kube/value/table.h"
#include "kube/value/value.h"
