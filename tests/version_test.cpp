#include <gtest/gtest.h>
#include <tandem/version.h>

#include <iostream>
#include <string>

using namespace tandem;

#if TANDEM_VERSION < 200  // 10000 * major + 100 * minor + patch: before 0.2.0
constexpr bool kBefore0_2 = true;
#else
constexpr bool kBefore0_2 = false;
#endif

TEST(Version, CodeOfTheVersioningPage) {
  EXPECT_EQ(kBefore0_2, TANDEM_VERSION_MAJOR == 0 && TANDEM_VERSION_MINOR < 2);
  if (tandem::version() != TANDEM_VERSION) {
    std::cerr << "compiled for tandem " TANDEM_VERSION_STRING ", running with " << tandem::version_string() << "\n";
    FAIL();
  }
}

TEST(Version, LibraryAndHeadersAgree) {
  EXPECT_EQ(version(), TANDEM_VERSION);
  EXPECT_STREQ(version_string(), TANDEM_VERSION_STRING);
}

TEST(Version, NumberAndStringNameTheThreeParts) {
  EXPECT_EQ(TANDEM_VERSION / 10000, TANDEM_VERSION_MAJOR);
  EXPECT_EQ(TANDEM_VERSION / 100 % 100, TANDEM_VERSION_MINOR);
  EXPECT_EQ(TANDEM_VERSION % 100, TANDEM_VERSION_PATCH);
  EXPECT_EQ(TANDEM_VERSION_STRING, std::to_string(TANDEM_VERSION_MAJOR) + "." + std::to_string(TANDEM_VERSION_MINOR) +
                                       "." + std::to_string(TANDEM_VERSION_PATCH));
}

TEST(Version, CMakeProjectHasTheHeadersVersion) { EXPECT_STREQ(TANDEM_VERSION_STRING, TANDEM_CMAKE_VERSION); }
