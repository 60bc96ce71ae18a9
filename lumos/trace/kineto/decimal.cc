#include "lumos/trace/kineto/decimal.h"

#include <charconv>

namespace lumos {

namespace {

constexpr int kMaxExponent = 400;  // Beyond any double; keeps the loops below short on hostile input.

constexpr int kFastDigits = 16;  // Absolute microseconds of this century.

/// digits x 10^exponent with at most 38 significant digits kept.
struct Decimal {
  unsigned __int128 digits = 0;
  int exponent = 0;
  bool negative = false;
};

constexpr unsigned __int128 kDigitsLimit = static_cast<unsigned __int128>(INT64_MAX) * INT64_MAX / 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Decimal> parse_decimal(std::string_view token) {
  Decimal out;
  const char* p = token.data();
  const char* end = p + token.size();
  if (p < end && (*p == '-' || *p == '+')) out.negative = *p++ == '-';
  bool any = false;
  bool in_fraction = false;
  for (; p < end && (is_digit(*p) || (*p == '.' && !in_fraction)); ++p) {
    if (*p == '.') {
      in_fraction = true;
      continue;
    }
    any = true;
    // A digit that does not fit counts as a power of ten before the point, and as nothing behind it.
    if (out.digits < kDigitsLimit) {
      out.digits = out.digits * 10 + static_cast<unsigned>(*p - '0');
      out.exponent -= in_fraction;
    } else {
      out.exponent += !in_fraction;
    }
  }
  if (!any) return std::nullopt;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p < end && *p == '+') ++p;
    int exponent = 0;
    auto [rest, error] = std::from_chars(p, end, exponent);
    if (error != std::errc() || exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
    out.exponent += exponent;
    p = rest;
  }
  if (p != end) return std::nullopt;
  return out;
}

std::optional<int64_t> scaled(Decimal value, int power, bool round) {
  int exponent = value.exponent + power;
  unsigned __int128 digits = value.digits;
  for (; exponent > 0 && digits != 0; --exponent) {
    if (digits > static_cast<unsigned __int128>(INT64_MAX)) return std::nullopt;
    digits *= 10;
  }
  unsigned last = 0;
  for (; exponent < 0 && (digits != 0 || last != 0); ++exponent) {
    last = static_cast<unsigned>(digits % 10);
    digits /= 10;
  }
  if (round && last >= 5) ++digits;
  if (digits > static_cast<unsigned __int128>(INT64_MAX)) return std::nullopt;
  auto magnitude = static_cast<int64_t>(digits);
  return value.negative ? -magnitude : magnitude;
}

}  // namespace

std::optional<int64_t> parse_us_as_ns(std::string_view token) {
  // Nearly all tokens: up to kFastDigits integer digits, then nothing or a point and up to three digits.
  const char* p = token.data();
  const char* end = p + token.size();
  bool negative = p < end && *p == '-';
  p += negative;
  const char* digits_begin = p;
  int64_t value = 0;
  while (p < end && is_digit(*p) && p - digits_begin < kFastDigits) value = value * 10 + (*p++ - '0');
  if (p > digits_begin && value < INT64_MAX / 1000) {
    int missing = 3;
    if (p < end && *p == '.') {
      for (++p; p < end && missing > 0 && is_digit(*p); --missing) value = value * 10 + (*p++ - '0');
    }
    if (p == end) {
      static constexpr int64_t kPower[] = {1, 10, 100, 1000};
      value *= kPower[missing];
      return negative ? -value : value;
    }
  }
  std::optional<Decimal> decimal = parse_decimal(token);
  if (!decimal) return std::nullopt;
  return scaled(*decimal, 3, true);
}

std::optional<int64_t> parse_int(std::string_view token) {
  int64_t value = 0;
  auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc() && rest == token.data() + token.size()) return value;
  std::optional<Decimal> decimal = parse_decimal(token);
  if (!decimal) return std::nullopt;
  return scaled(*decimal, 0, false);
}

std::optional<double> parse_double(std::string_view token) {
  double value = 0;
  auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || rest != token.data() + token.size()) return std::nullopt;
  return value;
}

}  // namespace lumos
