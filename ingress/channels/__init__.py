"""Chat channels: one package per channel, each behind the contract in `adapter`."""
