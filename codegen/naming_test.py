import unittest

import naming


class MemberNameTest(unittest.TestCase):
    def test_splits_words_and_abbreviations(self):
        cases = {
            "podIPs": "pod_ips",
            "clusterIPs": "cluster_ips",
            "hostPID": "host_pid",
            "hostIPC": "host_ipc",
            "externalIPs": "external_ips",
            "nonResourceURLs": "non_resource_urls",
            "serverAddressByClientCIDRs": "server_address_by_client_cidrs",
            "fsGroup": "fs_group",
            "awsElasticBlockStore": "aws_elastic_block_store",
            "insecureSkipTLSVerify": "insecure_skip_tls_verify",
            "setHostnameAsFQDN": "set_hostname_as_fqdn",
            "targetWWNs": "target_wwns",
            "fieldsV1": "fields_v1",
            "JSONPath": "json_path",
            "openAPIV3Schema": "open_api_v3_schema",
            "x-kubernetes-preserve-unknown-fields": "x_kubernetes_preserve_unknown_fields",
            "$ref": "ref",
        }
        for json_name, expected in cases.items():
            self.assertEqual(naming.member_name(json_name), expected)

    def test_keywords_and_macros_get_an_underscore(self):
        for name in ("namespace", "operator", "default", "continue", "template", "stdin"):
            self.assertEqual(naming.member_name(name), name + "_")


class PluralTest(unittest.TestCase):
    def test_follows_the_rules_of_the_client_generator(self):
        cases = {
            "Pod": "pods",
            "Ingress": "ingresses",
            "NetworkPolicy": "networkpolicies",
            "StorageClass": "storageclasses",
            "Endpoints": "endpoints",
            "IPAddress": "ipaddresses",
            "ServiceCIDR": "servicecidrs",
        }
        for kind, expected in cases.items():
            self.assertEqual(naming.plural(kind), expected)


if __name__ == "__main__":
    unittest.main()
