"""Structured losses and inference on tensors, with gradients; needs PyTorch."""

from structopt.torch.functions import argmax, entropy, log_partition, loss, marginals, sample

__all__ = ["argmax", "entropy", "log_partition", "loss", "marginals", "sample"]
