// Pod operations beyond the object itself: logs.h (logs), exec.h (exec and attach), port_forward.h.
#pragma once

#include "kube/client/exec.h"          // IWYU pragma: export
#include "kube/client/logs.h"          // IWYU pragma: export
#include "kube/client/port_forward.h"  // IWYU pragma: export
