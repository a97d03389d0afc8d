#!/usr/bin/env python3
"""Ranks that throw, hang, leave, differ or are killed: nothing hangs, and errors name the rank and the call.

Usage: faults_test.py --mpiexec MPIEXEC --trainer TRAINER [--kills N] [unittest arguments]

--kills: how often a run is killed at a random moment (default 4; 50 for a thorough check).
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

SETTINGS = argparse.Namespace()
LIMIT = 60  # seconds for a job; all of them end much earlier


def job(ranks, *arguments):
    """Starts the trainer on `ranks` processes."""
    command = [SETTINGS.mpiexec, "-np", str(ranks), SETTINGS.trainer, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(ranks, *arguments):
    """Returns the exit status, the output and the errors of a job, and its duration in seconds."""
    start = time.monotonic()
    process = job(ranks, *arguments)
    try:
        output, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        raise AssertionError(f"the job hangs:\n{output}\n{errors}") from None
    return process.returncode, output, errors, time.monotonic() - start


def ranks_of(process):
    """Returns the process numbers of a job's ranks."""
    found = subprocess.run(["pgrep", "-P", str(process.pid), "-f", pathlib.Path(SETTINGS.trainer).name],
                           capture_output=True, text=True)
    return [int(number) for number in found.stdout.split()]


def wait_for_step(process):
    """Returns when a job has made a step, or has ended."""
    for line in iter(process.stdout.readline, ""):
        if line.startswith("step"):
            return


class Faults(unittest.TestCase):
    def expect_failure(self, ranks, arguments, *texts, seconds=20):
        status, output, errors, duration = run(ranks, *arguments)
        self.assertNotEqual(status, 0, output)
        self.assertLess(duration, seconds, errors)
        for text in texts:
            self.assertRegex(errors, text)

    def test_an_exception_that_nobody_catches(self):
        self.expect_failure(3, ["--fault", "throws", "--rank", 1], "rank 0: .*rank 1 left the group: a bug in the data",
                            "rank 2: .*rank 1 left the group: a bug in the data")

    def test_an_early_exit(self):
        self.expect_failure(3, ["--fault", "exits", "--rank", 2], r"rank 0: .*rank 2 has left the group after \d+ calls",
                            r"did not join call \d+, all_reduce AVG .*\(bucket 0\)")

    def test_a_rank_that_hangs(self):
        self.expect_failure(2, ["--fault", "hangs", "--rank", 1, "--timeout", 2000],
                            r"rank 0: .*all_reduce AVG .*\(bucket 0\), has not completed within 2000 ms; rank 1 has not "
                            r"joined it: its last call is \d+, all_gather .*\(loss scales\)")

    def test_different_calls(self):
        self.expect_failure(3, ["--fault", "mismatch", "--rank", 1],
                            r"different calls \(ranks 0, 2: all_reduce AVG .*\(bucket 0\); rank 1: broadcast \[7\] f32")

    def test_an_additional_call(self):
        self.expect_failure(2, ["--fault", "calls", "--rank", 1], "rank 0: all_reduce AVG .*rank 1: barrier")

    def test_a_receive_of_another_dtype(self):
        self.expect_failure(2, ["--fault", "receive", "--rank", 1], r"rank 1: recv: rank 0 sent f32 of these sizes for recv "
                                                                    r"\[4\] i32 from rank 0")

    def test_an_exchange_of_unequal_sizes(self):
        self.expect_failure(2, ["--fault", "exchange", "--rank", 1], r"all_to_all: rank \d sends a tensor of other sizes to "
                                                                     r"rank 1 than those of its output, \[5\]")

    def test_different_models(self):
        # The rank that compares first ends the group; the other may report that instead.
        self.expect_failure(2, ["--fault", "shape", "--rank", 1],
                            r"is not the same on ranks 0 and 1; here, on rank (0, it is 0.weight \[32, 16\] f32|"
                            r"1, it is 0.weight \[33, 16\] f32)")

    def test_a_killed_rank_ends_the_job(self):
        process = job(2, "--steps", 100000, "--pause", 5)
        wait_for_step(process)
        subprocess.run(["kill", "-9", str(ranks_of(process)[1])], check=True)
        process.communicate(timeout=LIMIT)
        self.assertNotEqual(process.returncode, 0)

    def test_runs_that_are_killed_continue_bit_for_bit(self):
        def checksums(output):
            return set(re.findall(r"checksum (\S+)", output))

        with tempfile.TemporaryDirectory() as folder:
            expected = checksums(run(2, "--steps", 200)[1])
            self.assertEqual(len(expected), 1, "the ranks differ")
            draws = random.Random(SETTINGS.seed)
            file = pathlib.Path(folder, "run.safetensors")
            arguments = ["--steps", 200, "--pause", 4, "--checkpoint", file]
            for _ in range(SETTINGS.kills):
                process = job(2, *arguments)
                # From the first step on: Open MPI 4.1's mpirun may itself hang if a rank is killed while it starts.
                wait_for_step(process)
                time.sleep(draws.uniform(0, 0.5))
                ranks = ranks_of(process)
                if ranks:
                    subprocess.run(["kill", "-9", str(draws.choice(ranks))], check=False)
                process.communicate(timeout=LIMIT)
                if process.returncode == 0:  # it ended before the kill: begin another run
                    file.unlink()
            status, output, errors, _ = run(2, *arguments)
            self.assertEqual(status, 0, errors)
            self.assertEqual(checksums(output), expected)
            # Another number of ranks continues too.
            status, output, errors, _ = run(3, "--steps", 210, "--checkpoint", file)
            self.assertEqual(status, 0, errors)
            self.assertIn("resumed at step 200", output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    SETTINGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
