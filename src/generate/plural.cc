#include "generate/plural.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kube::generate {
namespace {

// Words whose plural their ending does not decide: the plural has `many` instead of the ending `one`.
struct Group {
  std::string_view one, many;
  std::string_view words;  // in the singular
};

// These words, and longer ones that end with them in small letters: "Database", "Superhuman".
constexpr auto kWords = std::to_array<Group>({
    {"", "", "aircraft beef bison blues chassis deer equipment fish graffiti information jeans media money moose news police rice salmon"},
    {"", "", "series sheep shrimp species swine trout tuna you"},
    {"", "s", "abuse ache agenda base bureau cause chive clause cookie cruse curriculum dwarf excuse formula fuse hive hoof house human"},
    {"", "s", "misuse move movie muse pause pretorium quota shoe stadium vedalia"},
    {"", "es", "buffalo octopus potato tomato topaz"},
    {"", "x", "adieu fabliau"},
    {"", "ren", "child"},
    {"", "e", "alumna differentia larva minutia postcava praecava uva vertebra vita"},
    {"an", "en", "man woman"},
    {"ex", "ices", "apex codex index latex vertex vortex"},
    {"f", "ves", "thief"},
    {"is", "es", "basis crisis ellipsis genesis oasis testis thesis"},
    {"ix", "ices", "appendix helix radix"},
    {"on", "a", "criterion ganglion lexicon mitochondrion noumenon phenomenon taxon"},
    {"oose", "eese", "goose"},
    {"oot", "eet", "foot"},
    {"ooth", "eeth", "tooth"},
    {"ouse", "ice", "mouse"},
    {"person", "people", "person"},
    {"um", "a", "aquarium auditorium medium symposium"},
    {"us", "era", "genus"},
    {"us", "i", "alumnus bacillus cactus coccus focus locus nucleus radius syllabus"},
    {"us", "ora", "corpus"},
});
// These words only: no box, blouse or mistletoe.
constexpr auto kWholeWords = std::to_array<Group>({
    {"", "", "adieus bureaux formulae octopi"},
    {"", "en", "ox"},
    {"", "es", "alias"},
    {"", "s", "toe use"},
    {"die", "dice", "die"},
    {"is", "es", "axis"},
    {"ouse", "ice", "louse"},
});

// The other words, by how they end. The longest ending decides; a word that ends as one of these plurals is a plural already.
struct Ending {
  std::string_view one, many;
};
constexpr auto kEndings = std::to_array<Ending>({
    // knife, leaf, shelf, scarf
    {"afe", "aves"},
    {"arf", "arves"},
    {"eaf", "eaves"},
    {"fe", "ves"},
    {"lf", "lves"},
    {"oaf", "oaves"},
    {"rf", "rves"},
    {"rfe", "rves"},
    // policy, but gateway and key
    {"ay", "ays"},
    {"ey", "eys"},
    {"oy", "oys"},
    {"quy", "quies"},
    {"uy", "uys"},
    {"y", "ies"},
    // Latin and Greek: bureau, nebula, polyhedron, spectrum, matrix, analysis
    {"antum", "anta"},
    {"atum", "ata"},
    {"brum", "bra"},
    {"bula", "bulae"},
    {"crum", "cra"},
    {"ctum", "cta"},
    {"dula", "dulae"},
    {"dum", "da"},
    {"eau", "eaux"},
    {"elum", "ela"},
    {"entum", "enta"},
    {"ernum", "erna"},
    {"etum", "eta"},
    {"eum", "ea"},
    {"gnosis", "gnoses"},
    {"gnum", "gna"},
    {"hedron", "hedra"},
    {"iasis", "iases"},
    {"ilum", "ila"},
    {"imum", "ima"},
    {"itum", "ita"},
    {"ium", "ia"},
    {"kinesis", "kineses"},
    {"llum", "lla"},
    {"lula", "lulae"},
    {"mesis", "meses"},
    {"nula", "nulae"},
    {"olum", "ola"},
    {"opsis", "opses"},
    {"otum", "ota"},
    {"oum", "oa"},
    {"ovum", "ova"},
    {"resis", "reses"},
    {"serum", "sera"},
    {"seum", "seums"},
    {"stracum", "straca"},
    {"terum", "tera"},
    {"trix", "trices"},
    {"trum", "tra"},
    {"ulum", "ula"},
    {"utum", "uta"},
    {"vula", "vulae"},
    {"ylum", "yla"},
    {"ysis", "yses"},
    // class, status, box, branch, mesh, quiz; hero, but photo and scenario
    {"ano", "anos"},
    {"ch", "ches"},
    {"ez", "ezzes"},
    {"io", "ios"},
    {"iz", "izzes"},
    {"lause", "lauses"},
    {"lo", "los"},
    {"o", "oes"},
    {"oo", "oos"},
    {"ouse", "ouses"},
    {"sh", "shes"},
    {"ss", "sses"},
    {"to", "tos"},
    {"tz", "tzes"},
    {"us", "uses"},
    {"x", "xes"},
    {"zz", "zzes"},
    // an abbreviation: DNS
    {"S", "Ses"},
});

// Abbreviations in capitals that are a word of their own in front of another one: "HTTPRoute" is a route. Others are a part of the word
// behind them.
constexpr std::string_view kAbbreviations[] = {
    "ACK",  "ACL",   "ADSL", "AES",  "ANSI", "API",  "ARP",  "ATM",  "BGP",  "BSS",   "CCITT", "CHAP", "CIDR", "CIR",   "CLI",  "CMOS",
    "CPE",  "CPU",   "CRC",  "CRT",  "CSMA", "DCE",  "DEC",  "DES",  "DHCP", "DMI",   "DNS",   "DRAM", "DSL",  "DSLAM", "DTE",  "EHA",
    "EIA",  "EIGRP", "EOF",  "ESS",  "FCC",  "FCS",  "FDDI", "FTP",  "GBIC", "GEPOF", "HDLC",  "HTML", "HTTP", "HTTPS", "IANA", "ICMP",
    "ID",   "IDF",   "IDS",  "IEEE", "IETF", "IMAP", "IP",   "IPS",  "ISDN", "ISP",   "JSON",  "JWT",  "LACP", "LAN",   "LAPB", "LAPF",
    "LLC",  "MAC",   "MC",   "MDF",  "MIB",  "MPLS", "MTU",  "NAC",  "NAT",  "NBMA",  "NIC",   "NRZ",  "NRZI", "NVRAM", "OK",   "OSI",
    "OSPF", "OUI",   "PAP",  "PAT",  "PC",   "PCM",  "PDU",  "PIM",  "POP3", "POTS",  "PPP",   "PPTP", "PTT",  "PVST",  "RAM",  "RARP",
    "RCP",  "RFC",   "RIP",  "RLL",  "ROM",  "RSTP", "RTP",  "SDLC", "SFD",  "SFP",   "SLARP", "SLIP", "SMTP", "SNA",   "SNAP", "SNMP",
    "SOF",  "SQL",   "SRAM", "SSH",  "SSID", "STP",  "SYN",  "TDM",  "TFTP", "TIA",   "TOFU",  "UDP",  "URI",  "URL",   "USB",  "UTF8",
    "UTP",  "UUID",  "VC",   "VLAN", "VLSM", "VPN",  "W3C",  "WAN",  "WEP",  "WPA",   "WWW",
};

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}
bool IsAbbreviation(std::string_view word) {
  return std::find(std::begin(kAbbreviations), std::end(kAbbreviations), word) != std::end(kAbbreviations);
}

// The last word of a name in CamelCase: "Job" of "CronJob", "Route" of "HTTPRoute".
std::string_view LastWord(std::string_view name) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (IsUpper(name[i]) && (!IsUpper(name[i - 1]) || IsAbbreviation(name.substr(begin, i - begin)))) begin = i;
  }
  return name.substr(begin);
}

// The longest ending of a word that was found so far, and what replaces it.
class Best {
 public:
  explicit Best(std::string_view word) : word_(word) {}

  bool found() const { return found_; }
  void Try(std::string_view ending, std::string_view becomes) {
    if (!word_.ends_with(ending) || (found_ && ending.size() <= ending_)) return;
    found_ = true;
    ending_ = ending.size();
    becomes_ = becomes;
  }
  // `name` ends with the word.
  std::string Replace(std::string_view name) const { return std::string(name.substr(0, name.size() - ending_)) + becomes_; }

 private:
  std::string_view word_;
  bool found_ = false;
  std::size_t ending_ = 0;
  std::string becomes_;
};

template <typename Groups, typename F>
void ForEachWord(const Groups& groups, const F& f) {
  for (const Group& group : groups) {
    for (std::string_view rest = group.words; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      f(one, std::string(one.substr(0, one.size() - group.one.size())) + std::string(group.many));
    }
  }
}

}  // namespace

std::string PluralOf(std::string_view kind) {
  const std::string_view word = LastWord(kind);
  const std::string lower = Lower(word);
  // The word itself, in any letters; a plural stays as it is.
  Best whole(lower);
  const auto equal = [&](std::string_view one, const std::string& many) {
    if (lower == many) whole.Try(many, many);
    if (lower == one) whole.Try(one, many);
  };
  ForEachWord(kWholeWords, equal);
  ForEachWord(kWords, equal);
  if (whole.found()) return whole.Replace(Lower(kind));
  if (!lower.ends_with('s') && IsAbbreviation(Upper(word))) return Lower(kind) + 's';  // Ssh

  Best longer(word);
  ForEachWord(kWords, [&](std::string_view one, const std::string& many) {
    longer.Try(many, many);
    longer.Try(one, many);
  });
  if (longer.found()) return Lower(longer.Replace(kind));

  Best ending(word);
  for (const Ending& e : kEndings) {
    ending.Try(e.many, e.many);
    ending.Try(e.one, e.many);
  }
  if (ending.found()) return Lower(ending.Replace(kind));
  return Lower(kind) + (lower.ends_with('s') ? "" : "s");
}

}  // namespace kube::generate
