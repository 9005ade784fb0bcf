# SPDX-License-Identifier: Apache-2.0
"""A script as people have written them for Horovod. Nothing in it knows of Longship: it has to stay so."""
import argparse

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from horovod.common.exceptions import HorovodInternalError
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--fp16-allreduce", action="store_true")
parser.add_argument("--use-adasum", action="store_true")
parser.add_argument("--batches-per-allreduce", type=int, default=1)
args = parser.parse_args()


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def main():
    hvd.init()
    torch.manual_seed(42)
    torch.set_num_threads(1)
    data = torch.randn(96, 8, generator=torch.Generator().manual_seed(5))
    dataset = TensorDataset(data, (data.sum(dim=1) > 0).long())
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)

    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), hvd.SyncBatchNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
    )
    scaler = hvd.local_size() if args.use_adasum and hvd.nccl_built() else (1 if args.use_adasum else hvd.size())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * scaler, momentum=0.5)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none,
        backward_passes_per_step=args.batches_per_allreduce,
        op=hvd.Adasum if args.use_adasum else hvd.Average,
        gradient_predivide_factor=1.0,
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)

    def loss_of_all():
        model.eval()
        with torch.no_grad():
            loss = F.cross_entropy(model(data), dataset.tensors[1]).item()
        model.train()
        return loss

    losses = [metric_average(loss_of_all(), "first_loss")]
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), target)
            loss.backward()
            if not args.use_adasum:
                optimizer.synchronize()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                with optimizer.skip_synchronize():
                    optimizer.step()
            else:
                optimizer.step()
        scheduler.step()
        losses.append(metric_average(loss_of_all(), "avg_loss"))
    hvd.join()
    if hvd.rank() == 0:
        print(f"losses {losses[0]:.3f} {losses[-1]:.3f} ranks {hvd.size()}")
    assert losses[-1] < losses[0], losses


try:
    main()
except HorovodInternalError as error:
    raise SystemExit(f"horovod failed: {error}")
