# SPDX-License-Identifier: Apache-2.0
"""What Horovod's scripts catch."""
from .._library import LongshipError as HorovodInternalError

__all__ = ["HorovodInternalError"]
