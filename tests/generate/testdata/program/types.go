// Package program has the markers of a program: roles and webhooks.
// +kubebuilder:skip
// +kubebuilder:webhookconfiguration:mutating=true,name=program
package program

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=update;patch
// +kubebuilder:rbac:groups=core,resources=pods,verbs=watch;get;list
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=tls;ca,verbs=update
// +kubebuilder:rbac:groups=batch;extensions,resources=jobs,verbs=*
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=get;patch

// +kubebuilder:rbac:groups=a.example.com,resources=things,verbs=get
// +kubebuilder:rbac:groups=b.example.com,resources=things,verbs=get
// +kubebuilder:rbac:urls=/metrics;/healthz,verbs=get
// +kubebuilder:rbac:urls=/readyz,verbs=get
// +kubebuilder:rbac:groups="",namespace=ops,resources=secrets,verbs=get;create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=ops,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=shop,resources=pods,verbs=delete,roleName=evictor
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get,roleName=node-reader
// +kubebuilder:rbac:groups=policy,resources=podsecuritypolicies,verbs=use;get;*
// +kubebuilder:webhook:path=/mutate-v1-pod,mutating=true,failurePolicy=fail,sideEffects=None,groups=core,resources=pods,verbs=create;update,versions=v1,name=mpod.example.com,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-v1-pod,mutating=false,failurePolicy=Ignore,matchPolicy=exact,sideEffects=noneondryrun,timeoutSeconds=7,groups="";apps,resources=pods;pods/status,verbs=delete;connect;*,versions=v1;v1beta1,name=vpod.example.com,admissionReviewVersions=v1;v1beta1,serviceName=svc,serviceNamespace=ops,servicePort=8443
// +kubebuilder:webhook:url="https://example.com/x",mutating=true,failurePolicy=ignore,sideEffects=None,groups=a.example.com,resources=things,verbs=UPDATE,versions=*,name=a.mutate.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,matchPolicy=Equivalent
// +kubebuilder:webhook:path=/patched,mutating=false,failurePolicy=fail,sideEffects=None,timeoutSeconds=3,groups=apps,resources=deployments,verbs=create,versions=v1,name=patched.example.com,admissionReviewVersions=v1,webhookVersions=v1,patch=`{"timeoutSeconds":null,"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["b","c"]}]},"matchConditions":[{"name":"x","expression":"true"}]}`

// Reconcile has such markers above it.
func Reconcile() {}
