#!/usr/bin/env python3
"""Prints the error of Winograd's convolution in f32, and of the gradient of its inputs by the transposed formula, for
several choices of points (kernels/cpu/simd/winograd.h): the root mean square of the error of a sum over 64 channels of
random values, relative to that of direct f32 sums in order."""
import numpy as np

CHOICES = {"0, 1, -1, 2, -2": (0, 1, -1, 2, -2), "0, 5/8, -5/8, 3/2, -3/2": (0, 0.625, -0.625, 1.5, -1.5)}
CHANNELS, TILES, SIDE = 64, 200, 6


def diagonal(points):
    """Returns the matrix D."""
    return np.diag([np.prod([p - q for q in points if q != p]) for p in points] + [1]).astype(np.float32)


def transforms(points, results, terms):
    """Returns A^T, G and B^T for these points and infinity."""
    evaluate = lambda n: np.array([[p ** j for j in range(n)] for p in points] + [[0] * (n - 1) + [1]], float)
    d = diagonal(points)
    matrices = evaluate(results).T, np.linalg.inv(d) @ evaluate(terms), d @ np.linalg.inv(evaluate(SIDE)).T
    return [m.astype(np.float32) for m in matrices]


def channel_sums(u, v):
    sums = np.zeros((TILES, SIDE, SIDE), np.float32)
    for c in range(CHANNELS):
        sums += u[:, c] * v[:, c]
    return sums


def errors(points, results, terms):
    """Returns the error of a tile's results relative to that of direct sums, and to the results."""
    random = np.random.default_rng(0)
    d = random.standard_normal((TILES, CHANNELS, SIDE, SIDE)).astype(np.float32)
    g = random.standard_normal((TILES, CHANNELS, terms, terms)).astype(np.float32)
    a, g_matrix, b = transforms(points, results, terms)
    u, v = g_matrix @ g @ g_matrix.T, b @ d @ b.T
    y = a @ channel_sums(u, v) @ a.T
    exact, direct = np.zeros(y.shape), np.zeros(y.shape, np.float32)
    for i in range(results):
        for j in range(results):
            products = d[:, :, i:i + terms, j:j + terms] * g
            exact[:, i, j] = (d[:, :, i:i + terms, j:j + terms].astype(float) * g).sum(axis=(1, 2, 3))
            for term in products.reshape(TILES, -1).T:
                direct[:, i, j] += term
    return relative(y, direct, exact)


def transposed_errors(points, results, terms):
    """The same for the gradient of a tile's inputs by the transposed formula."""
    random = np.random.default_rng(0)
    gy = random.standard_normal((TILES, CHANNELS, results, results)).astype(np.float32)
    g = random.standard_normal((TILES, CHANNELS, terms, terms)).astype(np.float32)
    _, g_matrix, b = transforms(points, results, terms)
    _, gy_matrix, _ = transforms(points, terms, results)
    u, v = g_matrix @ g @ g_matrix.T, gy_matrix @ gy @ gy_matrix.T
    to_data = b.T @ diagonal(points)
    d = to_data @ channel_sums(u, v) @ to_data.T
    exact, direct = np.zeros(d.shape), np.zeros(d.shape, np.float32)
    for c in range(CHANNELS):
        for i in range(results):
            for j in range(results):
                slope = gy[:, c, i:i + 1, j:j + 1]
                exact[:, i:i + terms, j:j + terms] += slope.astype(float) * g[:, c]
                direct[:, i:i + terms, j:j + terms] += slope * g[:, c]
    return relative(d, direct, exact)


def relative(y, direct, exact):
    rms = lambda x: np.sqrt((x ** 2).mean())
    return rms(y - exact) / rms(direct - exact), rms(y - exact) / rms(exact)


for kernel in (3, 5):
    for name, points in CHOICES.items():
        for what, function in (("", errors), (", transposed", transposed_errors)):
            ratio, of_results = function(points, SIDE + 1 - kernel, kernel)
            print(f"{kernel}x{kernel}{what}, points {name}: {ratio:.1f} times direct sums, {of_results:.1e} of the results")
