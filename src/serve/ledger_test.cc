#include "serve/ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serve/connection.h"
#include "serve/frame_budget.h"

namespace kube::serve {
namespace {

using boost::asio::ip::make_address;

// Connections that only have names.
class LedgerTest : public ::testing::Test {
 protected:
  void Begin(const HttpLimits& limits) { ledger_ = std::make_shared<Ledger>(limits); }
  ~LedgerTest() override {
    for (const auto& [name, account] : accounts_) ledger_->Close(account);
  }
  void Open(const std::string& peer, const std::string& name) {
    accounts_[name] = ledger_->Open(peer, [this, name](const std::function<void()>& then) {
      closed_.push_back(name);
      ledger_->Close(accounts_[name]);
      if (then) then();
    });
  }
  // The connection that is closed for another one of the peer; "" for none.
  std::string Victim(const std::string& peer) {
    const Ledger::Room room = ledger_->MakeRoom(peer);
    if (room.free) return "";
    closed_.clear();
    if (room.close) room.close({});
    return closed_.empty() ? "all of them are being closed" : closed_.back();
  }
  void Charge(const std::string& name, std::size_t bytes) {
    accounts_[name]->Add(bytes);
    charged_[name] += bytes;
    ledger_->Shed(*accounts_[name]);
    for (const std::string& gone : closed_) accounts_[gone]->Subtract(std::exchange(charged_[gone], 0));
  }

  std::shared_ptr<Ledger> ledger_;
  std::map<std::string, std::shared_ptr<Account>> accounts_;
  std::map<std::string, std::size_t> charged_;
  std::vector<std::string> closed_;
};

TEST_F(LedgerTest, TheOneWithoutAnAnswerForTheLongestTimeMakesRoomForItsPeer) {
  Begin({.max_connections_per_peer = 3});
  for (const char* name : {"a1", "a2", "a3"}) {
    EXPECT_EQ(Victim("a"), "");
    Open("a", name);
  }
  EXPECT_EQ(Victim("b"), "");
  accounts_["a1"]->Answered();
  EXPECT_EQ(Victim("a"), "a2");
  EXPECT_EQ(Victim("a"), "");
  Open("a", "a4");
  EXPECT_EQ(Victim("a"), "a3");
  EXPECT_EQ(ledger_->usage().closed_for_connections, 2U);
  EXPECT_EQ(ledger_->usage().connections, 2U);
  EXPECT_EQ(ledger_->usage().most_connections, 3U);
}

TEST_F(LedgerTest, ThePeerWithMostMakesRoomForOthers) {
  Begin({.max_connections = 4});
  Open("b", "b1");
  for (const char* name : {"a1", "a2", "a3"}) Open("a", name);
  EXPECT_EQ(Victim("c"), "a1");
  Open("c", "c1");
  EXPECT_EQ(Victim("b"), "a2");
  Open("b", "b2");
  EXPECT_EQ(Victim("d"), "b1");
}

TEST_F(LedgerTest, WhoHoldsMostIsClosed) {
  Begin({.max_bytes = 1000, .max_bytes_per_peer = 500});
  Open("a", "a1");
  Open("a", "a2");
  Open("b", "b1");
  Open("c", "c1");
  Charge("a1", 200);
  Charge("a2", 300);
  EXPECT_EQ(closed_, std::vector<std::string>{});
  Charge("a1", 50);  // the peer has too much, and a2 most of it
  EXPECT_EQ(closed_, std::vector<std::string>{"a2"});
  Charge("b1", 500);
  Charge("c1", 240);
  EXPECT_EQ(closed_.size(), 1U);
  Charge("c1", 20);  // all have too much, and b most of it
  EXPECT_EQ(closed_, (std::vector<std::string>{"a2", "b1"}));
  EXPECT_EQ(ledger_->usage().bytes_held, 510U);
  EXPECT_EQ(ledger_->usage().most_bytes_held, 1010U);
  EXPECT_EQ(ledger_->usage().closed_for_bytes, 2U);
  for (const char* name : {"a1", "c1"}) accounts_[name]->Subtract(charged_[name]);
}

TEST_F(LedgerTest, WhatOutlivesItsConnectionCounts) {
  Begin({.max_bytes_per_peer = 500});
  Open("a", "a1");
  Charge("a1", 400);
  ledger_->Close(accounts_["a1"]);
  Open("a", "a2");
  Charge("a2", 101);
  EXPECT_EQ(closed_, std::vector<std::string>{"a2"});
  accounts_["a1"]->Subtract(400);
  EXPECT_EQ(ledger_->usage().bytes_held, 0U);
}

TEST(PeerNameTest, AddressesThatOneClientHasAreOnePeer) {
  EXPECT_EQ(PeerName(make_address("10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(PeerName(make_address("::ffff:10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(PeerName(make_address("2001:db8:1:2:3:4:5:6")), "2001:db8:1:2::/64");
  EXPECT_EQ(PeerName(make_address("2001:db8:1:2:ffff::1")), "2001:db8:1:2::/64");
}

TEST(FrameBudgetTest, IsUsedUpAndGrowsAgain) {
  FrameBudget::TimePoint now{};
  FrameBudget budget(20, now);
  const auto clock = [&now] { return now; };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(budget.Spend(clock));
  EXPECT_FALSE(budget.Spend(clock));
  now += std::chrono::seconds(1);
  EXPECT_TRUE(budget.Spend(clock));
  EXPECT_TRUE(budget.Spend(clock));
  EXPECT_FALSE(budget.Spend(clock));
  budget.Earn(1.5);
  EXPECT_TRUE(budget.Spend(clock));
  EXPECT_FALSE(budget.Spend(clock));
  now += std::chrono::hours(1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(budget.Spend(clock));
  EXPECT_FALSE(budget.Spend(clock));
}

}  // namespace
}  // namespace kube::serve
