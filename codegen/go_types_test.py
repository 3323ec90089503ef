import unittest

import go_types
from go_types import Interface, MapOf, Named, Pointer, Slice

SOURCE = '''
/* A block comment with "quotes" and
   func words */
package v1

import (
	"fmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const GroupName = "example.io"

// A comment that is not about Widget.

// +genclient
// +genclient:nonNamespaced

// Widget does things. // +notAMarker
// +structType=atomic
type Widget struct {
	metav1.TypeMeta `json:""`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Floats above, detached:
	// +listType=set

	// +listType=map
	// +listMapKey=name
	// +listMapKey=port
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=parts"` // +default=1
	Labels map[string]string `json:"labels"`
	Limit *int32 `json:"limit,omitempty"`
	Data []byte
	Any interface{} `json:"any"`
	A, B string
	*Embedded
}

type (
	// +enum
	Colour string
	Colours []Colour
)

type Alias = metav1.Status

const (
	Red  Colour = "red"
	Blue Colour = Colour("blue")
	// a prefix
	Prefix = GroupName + "/"
	Key    = Prefix + "key"
	Number = 7
	Shift  = 1 << iota
)

var x = map[string]func(){"a": func() { fmt.Println("}") }}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Widget{},
		&WidgetList{},
	)
	return nil
}
'''


class ParseFileTest(unittest.TestCase):
    def setUp(self):
        self.package = go_types.parse_package({"types.go": SOURCE})
        self.fields = {f.name: f for f in self.package.types["Widget"].type.fields}

    def test_reads_imports(self):
        self.assertEqual(self.package.imports["types.go"], {"fmt": "fmt", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1"})

    def test_reads_types_of_fields(self):
        self.assertEqual(self.fields["Parts"].type, Slice(Named("", "Part")))
        self.assertEqual(self.fields["Labels"].type, MapOf(Named("", "string"), Named("", "string")))
        self.assertEqual(self.fields["Limit"].type, Pointer(Named("", "int32")))
        self.assertEqual(self.fields["Data"].type, Slice(Named("", "byte")))
        self.assertEqual(self.fields["Any"].type, Interface())
        self.assertEqual(self.fields["B"].type, Named("", "string"))

    def test_tells_embedded_fields(self):
        embedded = [name for name, field in self.fields.items() if field.embedded]
        self.assertEqual(embedded, ["TypeMeta", "ObjectMeta", "Embedded"])
        self.assertEqual(self.fields["ObjectMeta"].json_name(), "metadata")
        self.assertEqual(self.fields["TypeMeta"].json_name(), "")

    def test_reads_tags(self):
        tags = self.fields["Parts"].tags
        self.assertEqual(tags["patchMergeKey"], "name")
        self.assertEqual(tags["protobuf"], "bytes,2,rep,name=parts")
        self.assertEqual(self.fields["Parts"].json_options(), ["omitempty"])

    def test_a_field_has_only_the_markers_right_above_it(self):
        self.assertEqual(self.fields["Parts"].markers, {"listType": ["map"], "listMapKey": ["name", "port"]})
        self.assertEqual(self.fields["Labels"].markers, {})

    def test_a_type_has_markers_of_detached_comments_too(self):
        self.assertEqual(
            self.package.types["Widget"].markers, {"genclient": [""], "genclient:nonNamespaced": [""], "structType": ["atomic"]}
        )
        self.assertEqual(self.package.types["Colour"].markers, {"enum": [""]})

    def test_tells_aliases_from_definitions(self):
        self.assertTrue(self.package.types["Alias"].alias)
        self.assertFalse(self.package.types["Colours"].alias)

    def test_evaluates_string_constants(self):
        values = {name: const.value for name, const in self.package.consts.items()}
        self.assertEqual(values["Blue"], "blue")
        self.assertEqual(values["Key"], "example.io/key")
        self.assertIsNone(values["Number"])
        self.assertIsNone(values["Shift"])
        self.assertEqual(self.package.consts["Red"].type, Named("", "Colour"))

    def test_finds_group_and_registered_kinds(self):
        self.assertEqual(self.package.group, "example.io")
        self.assertEqual(self.package.registered, ["Widget", "WidgetList"])

    def test_reports_what_it_does_not_understand(self):
        with self.assertRaises(go_types.GoSyntaxError):
            go_types.parse_file("package v1\ntype T struct {\n  A chan int\n}\n")


if __name__ == "__main__":
    unittest.main()
