"""The same small job with Lightning, under torchrun or with processes that Lightning starts itself."""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from step_hooks import StepHook

log = logging.getLogger("train")


class Batches(torch.utils.data.Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples that are drawn from their number."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return inputs, (inputs.sum() > 0).long()


class Classifier(lightning.LightningModule):
    """A linear classifier that runs the step's hook."""

    def __init__(self, pace: float) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)
        self.pace, self.hook = pace, StepHook()

    def setup(self, stage: str) -> None:
        """Read the hook once the rank is known."""
        self.hook = StepHook.from_environment(self.global_rank)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        """Compute the loss."""
        time.sleep(self.pace)
        inputs, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layer(inputs), labels)
        self.hook(index + 1)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Use plain SGD."""
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pace", type=float, default=0.15)
    parser.add_argument("--timeout", type=float, default=8.0)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=4,
        num_nodes=1,
        strategy=DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=options.timeout)),
        max_steps=options.steps,
        logger=False,
        enable_checkpointing=False,
        default_root_dir=options.output,
    )
    trainer.fit(Classifier(options.pace), torch.utils.data.DataLoader(Batches(), batch_size=4))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    os.environ.setdefault("PL_DISABLE_FORK", "1")
    torch.set_num_threads(1)
    main()
