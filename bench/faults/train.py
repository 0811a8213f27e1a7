"""A small data-parallel training job: a linear classifier, gradients averaged over gloo at every step."""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from step_hooks import StepHook
from torch.distributed.elastic.multiprocessing.errors import record

log = logging.getLogger("train")


def parse_args() -> argparse.Namespace:
    """Read the job's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pace", type=float, default=0.15, help="seconds a step spends on its batch")
    parser.add_argument("--timeout", type=float, default=8.0, help="seconds before a collective gives up")
    parser.add_argument("--record", action="store_true", help="write error.json when main raises")
    return parser.parse_args()


def make_batch(step: int, rank: int, pace: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Make this rank's share of a batch, taking about `pace` seconds."""
    time.sleep(pace)
    generator = torch.Generator().manual_seed(step * 1000 + rank)
    inputs = torch.randn(32, 8, generator=generator)
    return inputs, (inputs.sum(dim=1) > 0).long()


def average_gradients(model: torch.nn.Module) -> None:
    """Replace each gradient by its mean over all ranks."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train(args: argparse.Namespace) -> None:
    """Run the training loop."""
    rank = dist.get_rank()
    hook = StepHook.from_environment(rank)
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, args.steps + 1):
        inputs, labels = make_batch(step, rank, args.pace)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        hook(step)
        average_gradients(model)
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())


def main(args: argparse.Namespace) -> None:
    """Join the process group, train, leave."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=args.timeout))
    log.info(
        "rank %d of %d ready, local rank %s, pid %d",
        dist.get_rank(),
        dist.get_world_size(),
        os.environ["LOCAL_RANK"],
        os.getpid(),
    )
    train(args)
    dist.barrier()
    dist.destroy_process_group()
    log.info("training finished")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    torch.set_num_threads(1)
    options = parse_args()
    (record(main) if options.record else main)(options)
