# SPDX-License-Identifier: Apache-2.0
"""One rank of an all-reduce measured from Python, with each library that can be called from there.

    lib_allreduce.py KIND BYTES…     prints {bytes: seconds} at rank 0
"""
import json
import statistics
import sys
import time


def calls(size):
    """How often one size is measured: about a tenth of a second's worth of copying."""
    return max(5, min(300, (256 << 20) // size))


class Longship:
    def __init__(self, shared):
        import longship.torch as hvd
        hvd.init()
        self.rank, self.size, self.barrier, self.stop = hvd.rank(), hvd.size(), hvd.barrier, hvd.shutdown
        self.allreduce = lambda data: hvd.allreduce_(data, op=hvd.Sum, name="bench")
        self.shared = shared

    def tensor(self, size):
        import torch
        if not self.shared:
            return torch.empty(size // 4)
        from longship.torch.memory import shared_tensor
        return shared_tensor(size // 4, torch.float32, torch.device("cpu"))


class Horovod:
    def __init__(self):
        import horovod.torch as hvd
        hvd.init()
        self.rank, self.size, self.barrier, self.stop = hvd.rank(), hvd.size(), hvd.barrier, hvd.shutdown
        self.allreduce = lambda data: hvd.allreduce_(data, op=hvd.Sum, name="bench")

    def tensor(self, size):
        import torch
        return torch.empty(size // 4)


class Gloo:
    def __init__(self):
        import torch.distributed as dist
        dist.init_process_group("gloo")
        self.rank, self.size, self.barrier = dist.get_rank(), dist.get_world_size(), dist.barrier
        self.allreduce, self.stop = dist.all_reduce, dist.destroy_process_group

    def tensor(self, size):
        import torch
        return torch.empty(size // 4)


KINDS = {"shared": lambda: Longship(True), "private": lambda: Longship(False), "horovod": Horovod, "gloo": Gloo}


def median(library, size):
    data = library.tensor(size)
    times = []
    for call in range(-2, calls(size)):
        data.fill_(library.rank)
        library.barrier()
        begin = time.perf_counter()
        library.allreduce(data)
        if call >= 0:
            times.append(time.perf_counter() - begin)
    ranks = library.size
    assert float(data[0]) == float(data[-1]) == ranks * (ranks - 1) // 2, "the sum of all ranks"
    return statistics.median(times)


def main(kind, *sizes):
    import torch
    torch.set_num_threads(1)
    library = KINDS[kind]()
    medians = {size: median(library, int(size)) for size in sizes}
    if library.rank == 0:
        print(json.dumps(medians), flush=True)
    library.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
