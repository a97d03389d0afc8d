"""Test data from a counter-based formula: tests/support/counter.h in NumPy. Every value is exact in f32."""
import numpy as np

MASK = (1 << 64) - 1


def bits(seed, count, first=0):
    """Returns 64 random bits each for numbers first .. first + count - 1 of the stream `seed`."""
    index = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(seed * 0xD1342543DE82EF95 & MASK) + index * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def unit(seed, count):
    """Uniform in [0, 1)."""
    return (bits(seed, count) >> np.uint64(40)).astype(np.float64) * 2.0**-24


def normal(seed, count):
    """Approximately normal, variance 4/3, in [-4, 4)."""
    b = bits(seed, count)
    total = sum(((b >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64) for shift in range(0, 64, 16))
    return (total - 131070).astype(np.float64) * 2.0**-15


def integers(seed, count, low, high):
    """Integers in [low, high)."""
    return (np.int64(low) + ((bits(seed, count) >> np.uint64(33)) % np.uint64(high - low)).astype(np.int64)).astype(np.float64)


def fnv1a(text):
    """Returns the 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value
