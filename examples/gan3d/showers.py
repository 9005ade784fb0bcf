# SPDX-License-Identifier: Apache-2.0
"""Electron showers in a calorimeter of 25 x 25 x 25 cells: synthetic, made of textbook formulas, no detector simulation.

A shower is a number of equal energy spots. Their depth follows the gamma distribution of Longo and Sestili whose maximum
grows with the logarithm of the energy; their distance from the axis has a dense core and a wide tail, which both widen with depth
(Grindhammer and Peters); depth of the first interaction, shape and width fluctuate from shower to shower, the sum of the
energy by the number of spots, which gives the resolution of a sampling calorimeter, 19 % / sqrt(E / GeV). Everything about a
shower follows from its number, so that every rank can make the ones it needs and all agree on them.
"""
import numpy as np

CELLS = 25
ENERGIES = (10.0, 500.0)  # GeV
SAMPLING = 0.02  # of the energy is seen by the sensitive layers
SPOTS_PER_GEV = 28
LAYER = 0.9  # radiation lengths
CRITICAL = 0.010  # GeV, tungsten and silicon
CORE, TAIL, IN_CORE = 0.55, 2.8, 0.82  # radii in cells, and the share of the core


def energy_of(number):
    """The energy of the particle in GeV: evenly spread, and known without making the shower."""
    return np.random.default_rng((number, 0)).uniform(*ENERGIES)


def shower(number):
    """The energy seen in each cell in GeV, as float32 [x, y, depth]."""
    random = np.random.default_rng((number, 1))
    energy = energy_of(number)
    spots = random.poisson(SPOTS_PER_GEV * energy)

    start = random.exponential(9 / 7)  # radiation lengths until something happens
    deepest = (np.log(energy / CRITICAL) - 0.5) * np.exp(random.normal(0, 0.06))
    slope = 0.5 * np.exp(random.normal(0, 0.10))
    depth = start + random.gamma(1 + slope * deepest, 1 / slope, spots)

    width = np.exp(random.normal(0, 0.08)) * (0.7 + 0.3 * depth / deepest)
    scale = np.where(random.random(spots) < IN_CORE, CORE, TAIL) * width
    uniform = random.random(spots)
    radius = scale * np.sqrt(uniform / (1 - uniform))  # distributed as 2 r R^2 / (r^2 + R^2)^2
    angle = random.uniform(0, 2 * np.pi, spots)
    axis = CELLS / 2 + random.uniform(-0.5, 0.5, 2)

    place = np.stack([axis[0] + radius * np.cos(angle), axis[1] + radius * np.sin(angle), depth / LAYER])
    place = np.floor(place).astype(np.int64)
    place = place[:, ((place >= 0) & (place < CELLS)).all(0)]
    cells = np.bincount(np.ravel_multi_index(place, (CELLS,) * 3), minlength=CELLS**3)
    return (cells * (SAMPLING / SPOTS_PER_GEV)).astype(np.float32).reshape((CELLS,) * 3)
