"""A small data-parallel training job: a linear classifier, gradients averaged over gloo at every step, by hand or by DDP."""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist
from step_hooks import StepHook
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def parse_args() -> argparse.Namespace:
    """Read the job's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pace", type=float, default=0.15, help="seconds a step spends on its batch")
    parser.add_argument("--timeout", type=float, default=8.0, help="seconds before a collective gives up")
    parser.add_argument("--ddp", action="store_true", help="let DistributedDataParallel average the gradients")
    parser.add_argument("--record", action="store_true", help="write error.json when main raises")
    return parser.parse_args()


class Batches(torch.utils.data.Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """This rank's share of the batches, each taking about `pace` seconds to make."""

    def __init__(self, steps: int, rank: int, pace: float, hook: StepHook) -> None:
        self.steps, self.rank, self.pace, self.hook = steps, rank, pace, hook

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self.pace)
        self.hook.item(index + 1)
        generator = torch.Generator().manual_seed(index * 1000 + self.rank)
        inputs = torch.randn(32, 8, generator=generator)
        return inputs, (inputs.sum(dim=1) > 0).long()


def load(batches: Batches, workers: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Iterate over the batches."""
    return iter(torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers))


def train(args: argparse.Namespace, hook: StepHook) -> None:
    """Run the training loop."""
    rank = dist.get_rank()
    torch.manual_seed(0)
    model: torch.nn.Module = torch.nn.Linear(8, 2)
    if args.ddp:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = Batches(args.steps, rank, args.pace, hook)
    for step, (inputs, labels) in enumerate(load(batches, hook.workers), start=1):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        hook(step)
        loss.backward()
        if not args.ddp:
            for parameter in model.parameters():
                hook.reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())


def main(args: argparse.Namespace) -> None:
    """Join the process group, train, leave."""
    hook = StepHook.from_environment(int(os.environ["RANK"]))
    dist.init_process_group("gloo", timeout=timedelta(seconds=args.timeout))
    log.info(
        "rank %d of %d ready, local rank %s, pid %d",
        dist.get_rank(),
        dist.get_world_size(),
        os.environ["LOCAL_RANK"],
        os.getpid(),
    )
    train(args, hook)
    dist.barrier()
    dist.destroy_process_group()
    log.info("training finished")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    torch.set_num_threads(1)
    options = parse_args()
    (record(main) if options.record else main)(options)
