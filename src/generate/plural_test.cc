#include "generate/plural.h"

#include <gtest/gtest.h>

#include <string_view>

namespace kube::generate {
namespace {

struct Words {
  std::string_view kind, plural;
};

void Expect(std::initializer_list<Words> all) {
  for (const Words& words : all) EXPECT_EQ(PluralOf(words.kind), words.plural);
}

// What flect 1.0.3 makes of the same words, which controller_gen_test.py compares for the kinds of testdata/names.
TEST(PluralTest, RegularWords) {
  Expect({{"Network", "networks"},
          {"VirtualMachine", "virtualmachines"},
          {"Gateway", "gateways"},
          {"Key", "keys"},
          {"Deploy", "deploys"},
          {"Policy", "policies"},
          {"NetworkPolicy", "networkpolicies"},
          {"Colloquy", "colloquies"},
          {"Buy", "buys"},
          {"Ingress", "ingresses"},
          {"NodeStatus", "nodestatuses"},
          {"Box", "boxes"},
          {"Branch", "branches"},
          {"Mesh", "meshes"},
          {"Quiz", "quizzes"},
          {"Waltz", "waltzes"},
          {"Buzz", "buzzes"},
          {"Replica", "replicas"},
          {"Query", "queries"}});
}

TEST(PluralTest, WordsInO) {
  Expect({{"Hero", "heroes"},
          {"Logo", "logoes"},
          {"Video", "videoes"},
          {"Potato", "potatoes"},
          {"Topaz", "topazes"},
          {"Photo", "photos"},
          {"Scenario", "scenarios"},
          {"Silo", "silos"},
          {"Zoo", "zoos"},
          {"Piano", "pianos"}});
}

TEST(PluralTest, WordsInF) {
  Expect({{"Knife", "knives"},
          {"Leaf", "leaves"},
          {"Shelf", "shelves"},
          {"Scarf", "scarves"},
          {"Loaf", "loaves"},
          {"Safe", "saves"},
          {"Thief", "thieves"},
          {"Dwarf", "dwarfs"},
          {"Roof", "roofs"},
          {"Hoof", "hoofs"}});
}

TEST(PluralTest, LatinAndGreekWords) {
  Expect({{"Index", "indices"},         {"Vertex", "vertices"},      {"Matrix", "matrices"},   {"Appendix", "appendices"},
          {"Regex", "regexes"},         {"Analysis", "analyses"},    {"Axis", "axes"},         {"Basis", "bases"},
          {"Hypothesis", "hypotheses"}, {"Radius", "radii"},         {"Status", "statuses"},   {"Focus", "foci"},
          {"Corpus", "corpora"},        {"Genus", "genera"},         {"Spectrum", "spectra"},  {"Stadium", "stadiums"},
          {"Medium", "media"},          {"Quorum", "quorums"},       {"Premium", "premia"},    {"Museum", "museums"},
          {"Criterion", "criteria"},    {"Polyhedron", "polyhedra"}, {"Bureau", "bureaus"},    {"Plateau", "plateaux"},
          {"Nebula", "nebulae"},        {"Formula", "formulas"},     {"Vertebra", "vertebrae"}});
}

TEST(PluralTest, OldWords) {
  Expect({{"Person", "people"},
          {"Child", "children"},
          {"Human", "humans"},
          {"Superhuman", "superhumans"},
          {"Workman", "workmen"},
          {"Mouse", "mice"},
          {"House", "houses"},
          {"Louse", "lice"},
          {"Blouse", "blouses"},
          {"Ox", "oxen"},
          {"Die", "dice"},
          {"Foot", "feet"},
          {"Tooth", "teeth"},
          {"Goose", "geese"},
          {"Alias", "aliases"},
          {"Use", "uses"},
          {"Toe", "toes"},
          {"Mistletoe", "mistletoes"}});
}

TEST(PluralTest, WordsThatDoNotChange) {
  Expect({{"Endpoints", "endpoints"},
          {"Kubernetes", "kubernetes"},
          {"Series", "series"},
          {"Fish", "fish"},
          {"Equipment", "equipment"},
          {"Metadata", "metadata"},
          {"Media", "media"},
          {"News", "news"},
          {"Indices", "indices"},
          {"Axes", "axes"},
          // They end as plurals do.
          {"Beta", "beta"},
          {"Lambda", "lambda"},
          {"Price", "price"},
          {"Area", "area"}});
}

TEST(PluralTest, LongerWordsFollowTheShortOnes) {
  Expect(
      {{"Database", "databases"}, {"Subindex", "subindices"}, {"Cache", "caches"}, {"Archive", "archives"}, {"Multimedia", "multimedia"}});
}

TEST(PluralTest, AbbreviationsAreWords) {
  Expect({{"DNS", "dnses"},
          {"ClusterDNS", "clusterdnses"},
          {"HTTPRoute", "httproutes"},
          {"DNSPolicy", "dnspolicies"},
          {"ID", "ids"},
          {"SSHIndex", "sshindices"},
          {"IPAlias", "ipaliases"},
          {"Ssh", "sshs"},
          {"CRD", "crds"},
          {"V2Index", "v2indices"},
          // VPC is none of the known ones, so that the word is no index.
          {"VPCIndex", "vpcindexes"}});
}

TEST(PluralTest, ShortAndStrangeNames) { Expect({{"Y", "ys"}, {"S", "ses"}, {"X", "xs"}, {"X1", "x1s"}, {"", "s"}}); }

TEST(PluralTest, MistakesAreNotFollowed) { Expect({{"Octopus", "octopuses"}, {"Dns", "dns"}, {"Ids", "ids"}, {"Cannula", "cannulae"}}); }

}  // namespace
}  // namespace kube::generate
