#!/usr/bin/env python3
"""Counts the tests of a run: every GoogleTest case, and every ctest test that is not a GoogleTest program.

Prints 'N skipped' if tests were skipped, and as its last line 'N passed, N failed'. Exits 1 if a test failed or none
ran.

Usage: test_totals.py BUILD_FOLDER    (ctest has written test_results/ctest.xml there, see scripts/test.sh)
"""
import json
import os
import sys
import xml.etree.ElementTree as ElementTree


def gtest_counts(path):
    """(passed, failed, skipped) of one executable, or None if it left no readable result because it crashed."""
    try:
        with open(path, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
    except (OSError, ValueError, KeyError):
        return None
    passed = failed = skipped = 0
    for suite in suites:
        for case in suite.get("testsuite", []):
            if case.get("failures"):
                failed += 1
            elif case.get("result") == "SKIPPED":
                skipped += 1
            elif case.get("status") == "RUN":
                passed += 1
    return passed, failed, skipped


def main():
    results = os.path.join(sys.argv[1], "test_results")
    passed = failed = skipped = 0
    for case in ElementTree.parse(os.path.join(results, "ctest.xml")).getroot().iter("testcase"):
        status = case.get("status")
        counts = gtest_counts(os.path.join(results, case.get("name") + ".json"))
        if counts:
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
            if status == "fail" and counts[1] == 0:  # failed outside the test cases: a leak at exit, a timeout
                failed += 1
        elif status == "run":
            passed += 1
        elif status == "fail":
            failed += 1
        else:
            skipped += 1
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
