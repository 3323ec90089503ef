// +groupName=extra.example.com
// +versionName=v1
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
#pragma once

namespace extra::v1 {}
