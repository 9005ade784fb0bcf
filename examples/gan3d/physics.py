# SPDX-License-Identifier: Apache-2.0
"""Whether generated showers are showers: shapes and energy response beside those that the training never saw.

    python3 physics.py model.pt        draws plots.svg for a model that was trained before
"""
import sys

import numpy as np
import torch
from model import LATENT, Generator, to_cells
from showers import CELLS, SAMPLING, energy_of, shower

BINS = np.linspace(0, 500, 6)  # GeV


def moments(cells, energies):
    """What is compared: mean shapes, and the energy sum and the number of hit cells of each shower."""
    total = cells.sum((1, 2, 3))
    share = cells / np.maximum(total, 1e-9)[:, None, None, None]
    return {
        "depth": share.sum((1, 2)).mean(0).tolist(),  # share of the energy in each layer
        "lateral": share.sum((2, 3)).mean(0).tolist(),  # and in each slice across
        "response": (total / (SAMPLING * energies)).tolist(),
        "hit": (cells > 1e-4).mean((1, 2, 3)).tolist(),
        "centre": (share.sum((1, 2)) @ np.arange(CELLS)).tolist(),  # mean depth of each shower, in layers
    }


def generated(generator, energies, seed, batch=32):
    noise = torch.randn(len(energies), LATENT, generator=torch.Generator().manual_seed(seed))
    energies = torch.tensor(energies, dtype=torch.float32)
    with torch.no_grad():
        parts = [generator(noise[i : i + batch], energies[i : i + batch]) for i in range(0, len(energies), batch)]
    return to_cells(torch.cat(parts)).squeeze(1).numpy()


def compare(generator, numbers, seed):
    """The moments of real and of generated showers of the same energies, and how far they are apart."""
    energies = np.array([energy_of(number) for number in numbers])
    real = moments(np.stack([shower(number) for number in numbers]), energies)
    made = moments(generated(generator, energies, seed), energies)

    def apart(name):  # half of the area between two shapes: 0 is the same, 1 has nothing in common
        return float(np.abs(np.subtract(real[name], made[name])).sum() / 2)

    return {
        "energies": energies.tolist(),
        "real": real,
        "generated": made,
        "depth apart": apart("depth"),
        "lateral apart": apart("lateral"),
        "response": [float(np.mean(real["response"])), float(np.mean(made["response"]))],
        "resolution": [float(np.std(real["response"])), float(np.std(made["response"]))],
        "hit cells": [float(np.mean(real["hit"])), float(np.mean(made["hit"]))],
    }


def in_words(verdict):
    return (
        f"depth profile {verdict['depth apart']:.3f} apart, lateral {verdict['lateral apart']:.3f}; "
        f"energy response {verdict['response'][1]:.3f} (real {verdict['response'][0]:.3f}), "
        f"hit cells {verdict['hit cells'][1]:.3f} (real {verdict['hit cells'][0]:.3f})"
    )


def plot(verdict, path):
    """Four pictures in one file; without matplotlib none, which the numbers in physics.json survive."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: python3-matplotlib is not in this image", file=sys.stderr)
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    energies = np.array(verdict["energies"])
    figure, ((depth, lateral), (response, centre)) = pyplot.subplots(2, 2, figsize=(10, 7.5), constrained_layout=True)
    for name, style in {"real": {"color": "0.3", "linestyle": "--"}, "generated": {"color": "tab:blue"}}.items():
        of = verdict[name]
        depth.step(range(CELLS), of["depth"], where="mid", label=name, **style)
        lateral.step(range(CELLS), of["lateral"], where="mid", label=name, **style)
        inside = np.digitize(energies, BINS) - 1
        means = [[f(np.array(of["response"])[inside == i]) for i in range(len(BINS) - 1) if (inside == i).any()]
                 for f in (np.mean, np.std)]
        middle = [(BINS[i] + BINS[i + 1]) / 2 for i in range(len(BINS) - 1) if (inside == i).any()]
        response.errorbar(middle, *means, capsize=3, label=name, **style)
        centre.hist(of["centre"], bins=np.linspace(6, 18, 25), histtype="step", label=name, **style)
    depth.set(title="Longitudinal profile", xlabel="layer", ylabel="share of the energy")
    lateral.set(title="Lateral profile", xlabel="cell across", ylabel="share of the energy", yscale="log")
    response.set(title="Energy response: mean and spread", xlabel="energy (GeV)", ylabel="seen / expected")
    centre.set(title="Mean depth of a shower", xlabel="layer", ylabel="showers")
    for each in (depth, lateral, response, centre):
        each.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    trained = Generator()
    trained.load_state_dict(torch.load(sys.argv[1])["generator"])
    result = compare(trained, range(10_000_000, 10_000_256), seed=1)
    plot(result, "plots.svg")
    print(in_words(result))
