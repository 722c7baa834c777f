"""Checkpoints and ledgers of earlier releases, and the program that writes those of this one."""
