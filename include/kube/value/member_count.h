// Whether a struct has as many members as its table, for kube/value/table.h. Not for users.
#pragma once

#include <cstddef>

namespace kube::internal {

inline constexpr std::size_t kMostCountedMembers = 40;

// Does not compile unless the struct has N members ("decomposes into ..."): a member may hide in the padding between two others, where
// offsets and sizes do not show it. Larger structs are not counted.
template <std::size_t N, typename Struct>
constexpr bool TheTableNamesAllMembersOf(Struct& object) {
  if constexpr (N == 1) {
    [[maybe_unused]] auto& [m1] = object;
  } else if constexpr (N == 2) {
    [[maybe_unused]] auto& [m1, m2] = object;
  } else if constexpr (N == 3) {
    [[maybe_unused]] auto& [m1, m2, m3] = object;
  } else if constexpr (N == 4) {
    [[maybe_unused]] auto& [m1, m2, m3, m4] = object;
  } else if constexpr (N == 5) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5] = object;
  } else if constexpr (N == 6) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6] = object;
  } else if constexpr (N == 7) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7] = object;
  } else if constexpr (N == 8) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8] = object;
  } else if constexpr (N == 9) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9] = object;
  } else if constexpr (N == 10) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = object;
  } else if constexpr (N == 11) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = object;
  } else if constexpr (N == 12) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = object;
  } else if constexpr (N == 13) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = object;
  } else if constexpr (N == 14) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = object;
  } else if constexpr (N == 15) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = object;
  } else if constexpr (N == 16) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = object;
  } else if constexpr (N == 17) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = object;
  } else if constexpr (N == 18) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = object;
  } else if constexpr (N == 19) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = object;
  } else if constexpr (N == 20) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = object;
  } else if constexpr (N == 21) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = object;
  } else if constexpr (N == 22) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = object;
  } else if constexpr (N == 23) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] =
        object;
  } else if constexpr (N == 24) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24] =
        object;
  } else if constexpr (N == 25) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25] = object;
  } else if constexpr (N == 26) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26] = object;
  } else if constexpr (N == 27) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27] = object;
  } else if constexpr (N == 28) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28] = object;
  } else if constexpr (N == 29) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29] = object;
  } else if constexpr (N == 30) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30] = object;
  } else if constexpr (N == 31) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31] = object;
  } else if constexpr (N == 32) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32] = object;
  } else if constexpr (N == 33) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33] = object;
  } else if constexpr (N == 34) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34] = object;
  } else if constexpr (N == 35) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35] = object;
  } else if constexpr (N == 36) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36] = object;
  } else if constexpr (N == 37) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37] = object;
  } else if constexpr (N == 38) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38] = object;
  } else if constexpr (N == 39) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39] = object;
  } else if constexpr (N == 40) {
    [[maybe_unused]] auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24,
                            m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39, m40] = object;
  }
  return true;
}

}  // namespace kube::internal
