#include "tandem/version.h"

#include <gtest/gtest.h>

#include <string>

using namespace tandem;

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
