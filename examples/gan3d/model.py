# SPDX-License-Identifier: Apache-2.0
"""The two networks of the 3D GAN: a generator conditioned on the energy, and a discriminator that also estimates it.

Cells span four orders of magnitude, so the networks see the root of the energy. There is no batch normalisation: what a
shower becomes does not depend on which others share its batch, so that one rank and many compute the same.
"""
import torch
from torch import nn

LATENT = 64
SCALE = 10.0  # cells near the axis come out at about 1


def to_network(cells):
    """GeV in cells -> what the networks see."""
    return (cells * 1e3).sqrt() / SCALE


def to_cells(seen):
    return (seen * SCALE).square() / 1e3


def energy_seen(seen):
    """The sum over all cells, in GeV."""
    return to_cells(seen).sum((1, 2, 3, 4))


class Generator(nn.Module):
    """Noise and energy -> a shower: a small cube that is doubled three times."""

    def __init__(self):
        super().__init__()
        self.cube = nn.Linear(LATENT + 1, 64 * 4**3)
        self.layers = nn.Sequential(
            nn.Upsample((7, 7, 7)), nn.Conv3d(64, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.LeakyReLU(0.2),
            nn.Upsample((13, 13, 13)), nn.Conv3d(64, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.LeakyReLU(0.2),
            nn.Upsample((25, 25, 25)), nn.Conv3d(32, 8, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv3d(8, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv3d(8, 1, 3, padding=1),
        )

    def forward(self, noise, energy):
        relative = (energy / 100).unsqueeze(1)
        cube = self.cube(torch.cat([noise, relative], 1)).view(-1, 64, 4, 4, 4)
        # Relu, because most cells are empty; the root of the energy, because that is how cells grow with it.
        return torch.relu(self.layers(cube)) * relative.sqrt().view(-1, 1, 1, 1, 1)


class Discriminator(nn.Module):
    """A shower -> whether it is a real one, and of which energy, in units of 100 GeV."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(1, 16, 5, stride=2, padding=2), nn.LeakyReLU(0.2),
            nn.Conv3d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(8, 32), nn.LeakyReLU(0.2),
            nn.Conv3d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(8, 64), nn.LeakyReLU(0.2),
            nn.Conv3d(64, 128, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Flatten(),
        )
        # What the eye of a physicist looks for first is given to it: the sum, and how many cells are hit.
        self.real = nn.Linear(128 * 2**3 + 2, 1)
        self.energy = nn.Linear(128 * 2**3 + 2, 1)

    def forward(self, seen):
        total = energy_seen(seen).unsqueeze(1) / 2
        hit = torch.tanh(seen * 20).mean((1, 2, 3, 4)).unsqueeze(1) * 10
        features = torch.cat([self.layers(seen), total, hit], 1)
        return self.real(features).squeeze(1), self.energy(features).squeeze(1)
