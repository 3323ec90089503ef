"""The objects of kubectl_test.py."""

SHOP = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        ports:
        - containerPort: 80
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  selector: {app: web}
  ports:
  - port: 80
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
data:
  color: green
  size: large
"""

EVENT = """\
apiVersion: v1
kind: Event
metadata:
  name: settings.1
  namespace: shop
involvedObject: {apiVersion: v1, kind: ConfigMap, name: settings, namespace: shop}
type: Warning
reason: TooSmall
message: It does not fit
count: 1
firstTimestamp: "2024-01-02T03:04:05Z"
lastTimestamp: "2024-01-02T03:04:05Z"
"""

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.e2e.example.com
spec:
  group: e2e.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, description: How large it is., enum: [small, large]}
              replicas: {type: integer, default: 1}
          status:
            type: object
            properties:
              replicas: {type: integer}
"""

WIDGET = """\
apiVersion: e2e.example.com/v1
kind: Widget
metadata:
  name: first
  namespace: default
spec:
  size: small
"""


def config_map(name, **data):
    lines = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata:\n{lines}"


def owned(kind, api_version, name, owner, uid):
    """The head of an object that belongs to another one of the same name."""
    version, owner_kind = owner
    return f"""\
apiVersion: {api_version}
kind: {kind}
metadata:
  name: {name}
  namespace: family
  labels: {{app: {name}}}
  ownerReferences:
  - {{apiVersion: {version}, kind: {owner_kind}, name: {name}, uid: {uid}, controller: true, blockOwnerDeletion: true}}
"""


def replica_set(name, uid):
    template = f"{{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: x, image: example.com/x}}]}}}}"
    head = owned("ReplicaSet", "apps/v1", name, ("apps/v1", "Deployment"), uid)
    return f"{head}spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template: {template}\n"


def pod(name, uid):
    return owned("Pod", "v1", name, ("apps/v1", "ReplicaSet"), uid) + "spec: {containers: [{name: x, image: example.com/x}]}\n"
