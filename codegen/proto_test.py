import unittest

import proto
from proto import ProtoField

SOURCE = '''
/* licence */
syntax = "proto2";

package k8s.io.api.example.v1;

import "k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto";

option go_package = "k8s.io/api/example/v1";

// message Commented { optional string gone = 1; }
message Widget {
  // +optional
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  repeated Part parts = 2;

  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> limits = 3;

  optional int32 count = 17;
}

message Empty {
}
'''


class ParseTest(unittest.TestCase):
    def test_reads_messages_with_full_type_names(self):
        parsed = proto.parse(SOURCE)
        self.assertEqual(parsed.package, "k8s.io.api.example.v1")
        self.assertEqual(list(parsed.messages), ["Widget", "Empty"])
        self.assertEqual(
            list(parsed.messages["Widget"].values()),
            [
                ProtoField("optional", "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta", "metadata", 1),
                ProtoField("repeated", "k8s.io.api.example.v1.Part", "parts", 2),
                ProtoField("map", "k8s.io.apimachinery.pkg.api.resource.Quantity", "limits", 3),
                ProtoField("optional", "int32", "count", 17),
            ],
        )

    def test_rejects_what_it_does_not_know(self):
        for body in ("oneof x {", "map<int32, string> m = 1;", "optional string a = 1;\noptional string b = 1;"):
            with self.assertRaises(proto.ProtoSyntaxError, msg=body):
                proto.parse("message M {\n" + body + "\n}\n")


if __name__ == "__main__":
    unittest.main()
