// Sums in two floats, for what other backends add in double: the head is the sum, the tail what rounding lost.
#pragma once
#include "msl/element.h"

struct twofloat {
  float head, tail;
};

// add is Knuth's two-sum. It needs additions as written: the library is compiled with fast arithmetic off, and there
// is no product that could be contracted.
static inline twofloat add(twofloat s, float x) {
  float t = s.head + x, z = t - s.head;
  s.tail += (s.head - (t - z)) + (x - z);
  s.head = t;
  return s;
}

// value rounds once. The tail of an infinite or NaN sum means nothing.
static inline float value_of(twofloat s) { return is_finite(s.head) ? s.head + s.tail : s.head; }
