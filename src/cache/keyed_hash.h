// KeyedHash: a hash of texts that others choose, such as names of objects and values of labels. It depends on a secret of the process
// (SipHash-1-3), so nobody can choose texts that collide and make a table slow.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace kube::internal {

class KeyedHash {
 public:
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return static_cast<std::size_t>(Of({}, text)); }

  static std::uint64_t Of(std::string_view first, std::string_view second) noexcept {
    const Secret& secret = ProcessSecret();
    State state{secret.low ^ 0x736f6d6570736575, secret.high ^ 0x646f72616e646f6d, secret.low ^ 0x6c7967656e657261,
                secret.high ^ 0x7465646279746573};
    // The sizes come first: no two pairs of texts are the same blocks.
    state.Block((static_cast<std::uint64_t>(first.size()) << 32) ^ second.size());
    state.Text(first);
    state.Text(second);
    state.v2 ^= 0xff;
    state.Round();
    state.Round();
    state.Round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
  }

 private:
  struct Secret {
    std::uint64_t low, high;
  };
  static const Secret& ProcessSecret() {
    static const Secret secret = [] {
      std::random_device random;
      const auto word = [&random] { return (static_cast<std::uint64_t>(random()) << 32) | random(); };
      return Secret{word(), word()};
    }();
    return secret;
  }
  struct State {
    std::uint64_t v0, v1, v2, v3;

    static std::uint64_t Rotate(std::uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }
    void Round() {
      v0 += v1;
      v1 = Rotate(v1, 13) ^ v0;
      v0 = Rotate(v0, 32);
      v2 += v3;
      v3 = Rotate(v3, 16) ^ v2;
      v0 += v3;
      v3 = Rotate(v3, 21) ^ v0;
      v2 += v1;
      v1 = Rotate(v1, 17) ^ v2;
      v2 = Rotate(v2, 32);
    }
    void Block(std::uint64_t block) {
      v3 ^= block;
      Round();
      v0 ^= block;
    }
    void Text(std::string_view text) {
      std::uint64_t block = 0;
      while (text.size() >= sizeof block) {
        std::memcpy(&block, text.data(), sizeof block);
        Block(block);
        text.remove_prefix(sizeof block);
      }
      if (text.empty()) return;
      block = 0;
      std::memcpy(&block, text.data(), text.size());
      Block(block);
    }
  };
};

}  // namespace kube::internal
