#pragma once
// What most tests include. It is precompiled, or included first in every group of files (tests/CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <thread>
#include <vector>

#include "tandem/tandem.h"
