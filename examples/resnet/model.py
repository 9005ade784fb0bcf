# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 and ResNet-50 (He and others, "Deep Residual Learning for Image Recognition"), in what PyTorch itself has."""
import torch
from torch import nn

STAGES = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


def convolution(into, out, size, stride=1):
    return nn.Sequential(nn.Conv2d(into, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out))


class Block(nn.Module):
    """Two convolutions, or with `narrow` a bottleneck of three, and a way around them."""

    def __init__(self, into, width, stride, narrow):
        super().__init__()
        out = width * 4 if narrow else width
        relu = nn.ReLU(inplace=True)
        if narrow:
            self.path = nn.Sequential(
                convolution(into, width, 1), relu, convolution(width, width, 3, stride), relu, convolution(width, out, 1)
            )
        else:
            self.path = nn.Sequential(convolution(into, width, 3, stride), relu, convolution(width, out, 3))
        self.around = nn.Identity() if (into, stride) == (out, 1) else convolution(into, out, 1, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.around(x))


def resnet(depth, classes=1000):
    narrow = depth == 50
    layers, into = [convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(STAGES[depth]):
        width = 64 << stage
        for number in range(count):
            layers.append(Block(into, width, 2 if stage > 0 and number == 0 else 1, narrow))
            into = width * 4 if narrow else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, classes))
