"""The same small job with the Trainer of Hugging Face transformers."""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from step_hooks import StepHook
from transformers import Trainer, TrainingArguments

log = logging.getLogger("train")


class Batches(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Samples that are drawn from their number."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        inputs = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return {"inputs": inputs, "labels": (inputs.sum() > 0).long()}


class Classifier(torch.nn.Module):
    """A linear classifier that returns its loss, and that runs the step's hook."""

    def __init__(self, hook: StepHook, pace: float) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)
        self.hook, self.pace, self.step = hook, pace, 0

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.step += 1
        time.sleep(self.pace)
        loss = torch.nn.functional.cross_entropy(self.layer(inputs), labels)
        self.hook(self.step)
        return {"loss": loss}


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pace", type=float, default=0.15)
    parser.add_argument("--timeout", type=float, default=8.0)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    hook = StepHook.from_environment(int(os.environ["RANK"]))
    # its own `ddp_timeout` has no effect on a CPU
    dist.init_process_group("gloo", timeout=timedelta(seconds=options.timeout))
    settings = TrainingArguments(
        output_dir=options.output,
        use_cpu=True,
        ddp_backend="gloo",
        max_steps=options.steps,
        per_device_train_batch_size=4,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
    )
    Trainer(model=Classifier(hook, options.pace), args=settings, train_dataset=Batches()).train()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    torch.set_num_threads(1)
    main()
