// Each Deployment names its creator, and its images have a tag.
#pragma once

#include "kube/webhook/webhook_spec.h"

kube::WebhookSpec DeploymentPolicy();
