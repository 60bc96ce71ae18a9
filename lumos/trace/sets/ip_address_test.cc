#include "lumos/trace/sets/ip_address.h"

#include <gtest/gtest.h>

#include <string>

namespace lumos {
namespace {

std::string found(std::string_view text) {
  const TextRange range = find_ipv6(text, 0);
  return std::string(text.substr(range.at, range.length));
}

TEST(Ipv6, IsFoundWrittenOutAndAbbreviated) {
  for (const char* address : {"fe80::1", "fe80::", "2001:db8::8a2e:370:7334", "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
                              "fd12:3456:789a:1::1", "FE80::A00:27FF:FE4E:66A1", "ff02::1", "2a00:1450:4001:81b::200e",
                              "0:0:0:0:0:ffff:a00:1"}) {
    EXPECT_EQ(found(address), address);
    EXPECT_EQ(found("tcp://[" + std::string(address) + "]:29500"), address);
    EXPECT_EQ(found(std::string(address) + ", port 3"), address);
    EXPECT_EQ(found("store at " + std::string(address) + "%eth0"), address);
  }
}

TEST(Ipv6, NamesTimesAndNumbersAreNone) {
  for (const char* text : {"at::native::add",
                           "c10::d",
                           "aten::add",
                           "std::feed::bad_kernel",
                           "fe80::add_kernel",
                           "12:34:56",
                           "2023:10:05",
                           "a::b",
                           "void c10::cuda::f<1, 2>(int)",
                           "::1",
                           "::",
                           "dead::beef",
                           "face:bad",
                           "1:2:3:4:5:6:7",
                           "2001::1::2",
                           "12345::1",
                           "xfe80::1",
                           "rank:3",
                           "add::c10d",
                           ""}) {
    EXPECT_EQ(found(text), "") << text;
  }
}

}  // namespace
}  // namespace lumos
