"""From Go and protobuf text of a small made-up group to C++ text."""

import unittest

import checks
import emit
import go_types
import model
import openapi
import proto

META_GO = """
package v1
type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
}
type ObjectMeta struct {
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}
type Time struct {}
"""
META_PROTO = """
package k8s.io.apimachinery.pkg.apis.meta.v1;
message ObjectMeta {
  optional string name = 1;
}
message Time {
}
"""
GO = """
package v1
import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +genclient
type Widget struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Enabled bool `json:"enabled" protobuf:"varint,2,opt,name=enabled"`
	// +listType=map
	// +listMapKey=name
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,3,rep,name=parts"`
	Extra map[string]Values `json:"extra,omitempty" protobuf:"bytes,4,rep,name=extra"`
}
type Part struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	Source `json:"" protobuf:"bytes,2,opt,name=source"`
	Since *metav1.Time `json:"since,omitempty" protobuf:"bytes,3,opt,name=since"`
	// +default="red"
	Colour Colour `json:"colour,omitempty" protobuf:"bytes,4,opt,name=colour"`
}
type Source struct {
	Count *int32 `json:"count,omitempty" protobuf:"varint,1,opt,name=count"`
	Inner *Part `json:"inner,omitempty" protobuf:"bytes,2,opt,name=inner"`
}
type Values []string
// +enum
type Colour string
const (
	ColourRed Colour = "red"
	ColourBlue Colour = "blue"
)
func add(scheme *runtime.Scheme) { scheme.AddKnownTypes(gv, &Widget{}) }
"""
PROTO = """
package k8s.io.api.example.v1;
message Widget {
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;
  optional bool enabled = 2;
  repeated Part parts = 3;
  map<string, Values> extra = 4;
}
message Part {
  optional string name = 1;
  optional Source source = 2;
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.Time since = 3;
  optional string colour = 4;
}
message Source {
  optional int32 count = 1;
  optional Part inner = 2;
}
message Values {
  repeated string items = 1;
}
"""


def build(go: str = GO, proto_text: str = PROTO):
    meta = model.GroupVersion(model.META, "meta", "v1", "", go_types.parse_package({"types.go": META_GO}), proto.parse(META_PROTO))
    gv = model.GroupVersion(
        "k8s.io/api/example/v1", "example", "v1", "example.io", go_types.parse_package({"types.go": go}), proto.parse(proto_text)
    )
    builder = model.Builder([meta, gv])
    original, model.KINDS_OF_META = model.KINDS_OF_META, {}
    try:
        builder.build()
    finally:
        model.KINDS_OF_META = original
    return gv, builder.errors


class ModelTest(unittest.TestCase):
    def test_go_and_protobuf_make_one_schema(self):
        gv, errors = build()
        self.assertEqual(errors, [])
        widget = gv.structs["Widget"]
        self.assertEqual([(f.json_name, f.kind, f.shape, f.number, f.required) for f in widget.fields], [
            ("metadata", "kMessage", "kPlain", 1, False),
            ("enabled", "kBool", "kPlain", 2, True),
            ("parts", "kMessage", "kList", 3, False),
            ("extra", "kMessage", "kMap", 4, False),
        ])  # fmt: skip
        self.assertEqual(widget.kind, model.Kind("example.io", "v1", "Widget", "widgets", True, False))
        self.assertEqual(gv.structs["Values"].form, "kOnlyField")
        self.assertEqual(gv.structs["Part"].fields[-1].extra, model.Extra(default_json='"red"', enum_values="blue,red"))
        self.assertEqual([f.json_name for f in gv.structs["Part"].flat()], ["name", "count", "inner", "since", "colour"])

    def test_a_disagreement_with_protobuf_is_an_error(self):
        for change in (("bool enabled = 2", "bool enabled = 9"), ("bool enabled", "string enabled"), ("repeated Part", "optional Part")):
            _, errors = build(proto_text=PROTO.replace(*change))
            self.assertEqual(len(errors), 1, errors)
        _, errors = build(proto_text=PROTO.replace("message Source {", "message Source {\n  optional string news = 7;"))
        self.assertEqual(errors, ["example.v1.Source: in generated.proto only: ['news']"])


class EmitTest(unittest.TestCase):
    def setUp(self):
        self.gv, _ = build()
        header = emit.HeaderWriter(self.gv, emit.Layout(), {"k8s.io/api": "v0.0.1"})
        self.header = header.write()
        self.source = emit.SourceWriter(self.gv, header).write()

    def test_members_keep_the_order_of_the_go_source(self):
        part = self.header[self.header.index("struct KUBE_EXPORT Part {") :].split("\n};")[0]
        members = [line.strip() for line in part.split("\n")[1:] if line.startswith("  ") and line.endswith("{};")]
        self.assertEqual(
            members,
            ["String name{};", "std::optional<std::int32_t> count{};", "Box<Part> inner{};", "Time since{};", "String colour{};", "UnknownFields unknown_fields{};"],
        )
        self.assertIn("Map<List<String>> extra{};", self.header)
        self.assertIn('inline constexpr std::string_view kColourRed = "red";', self.header)

    def test_inlined_structs_become_views_of_the_outer_one(self):
        self.assertIn('{{}, &kPart_SourceView, nullptr, 0, 2, K::kInline, S::kPlain, false}', self.source)
        self.assertIn('{"count"sv, nullptr, nullptr, offsetof(Part, count), 1, K::kInt32, S::kOptional, false}', self.source)
        self.assertIn('{"count"sv, nullptr, nullptr, offsetof(Source, count), 1, K::kInt32, S::kOptional, false}', self.source)

    def test_tables_carry_what_patches_need(self):
        self.assertIn('.list_type = ListType::kMap, .map_keys = "name"sv, .patch_strategy = "merge"sv, .patch_merge_key = "name"sv', self.source)


class CheckerTest(unittest.TestCase):
    def check(self, schema: dict):
        gv, _ = build()
        checker = checks.Checker(openapi.OpenApi({"io.k8s.api.example.v1.Part": schema}, {}), [gv])
        checker._struct(gv.structs["Part"], schema)
        return checker.errors

    def test_agreement_is_silent_and_older_schemas_may_lack_fields(self):
        string = {"type": "string"}
        self.assertEqual(self.check({"properties": {"name": string, "colour": {**string, "default": "red", "enum": ["red"]}}}), [])
        self.assertEqual(self.check({"properties": {"inner": {"allOf": [{"$ref": "#/x/io.k8s.api.example.v1.Part"}]}}}), [])

    def test_disagreements_are_errors(self):
        for prop in (
            {"gone": {"type": "string"}},
            {"name": {"type": "integer"}},
            {"name": {"type": "string", "default": "x"}},
            {"colour": {"type": "string"}},
            {"colour": {"type": "string", "default": "red", "enum": ["green"]}},
            {"name": {"type": "string", "x-kubernetes-patch-strategy": "merge"}},
            {"inner": {"$ref": "#/x/io.k8s.api.example.v1.Source"}},
        ):
            self.assertEqual(len(self.check({"properties": prop})), 1, prop)
        self.assertEqual(len(self.check({"x-kubernetes-map-type": "atomic"})), 1)


class OpenApiTest(unittest.TestCase):
    def test_reads_resources_and_scopes_from_paths(self):
        gvk = {"x-kubernetes-group-version-kind": {"group": "example.io", "version": "v1", "kind": "Widget"}}
        api = openapi.OpenApi({}, {})
        openapi.add_document(
            api,
            {
                "paths": {
                    "/apis/example.io/v1/widgets": {"get": gvk},
                    "/apis/example.io/v1/namespaces/{namespace}/widgets": {"post": gvk},
                    "/apis/example.io/v1/namespaces/{namespace}/widgets/{name}/status": {"get": gvk},
                }
            },
        )
        self.assertEqual(api.resources, {("example.io", "v1", "Widget"): openapi.Resource("widgets", True)})


if __name__ == "__main__":
    unittest.main()
