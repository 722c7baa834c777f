"""Checkpoints and ledgers of earlier releases, and the program that writes those of this one."""

from support.places import prepare_environment

prepare_environment()
