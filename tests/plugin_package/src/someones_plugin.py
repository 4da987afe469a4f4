"""A generator and a source of somebody else's."""

import pyarrow as pa


def mixer(codebook):
    """A plain network whose output is the encoded row itself."""
    import torch
    from torch import nn

    class Mixer(nn.Module):
        latent_dim = 8

        def __init__(self, dim: int) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(self.latent_dim, 16), nn.ReLU(), nn.Linear(16, dim))

        def forward(self, latent: torch.Tensor) -> torch.Tensor:
            return self.layers(latent)

    return Mixer(codebook.dim)


def not_a_module(codebook):
    """What no generator is."""
    return codebook.dim


def parity_table(address: str) -> pa.RecordBatchReader:
    """``parity://NUMBER``: so many rows, the even ones true."""
    number = int(address.removeprefix("parity://"))
    table = pa.table({"even": [row % 2 == 0 for row in range(number)], "digit": [row % 10 for row in range(number)]})
    return table.to_reader(max_chunksize=100)


def failing_table(address: str) -> pa.RecordBatchReader:
    """A source that cannot be reached."""
    raise ConnectionError(f"nobody answers at {address}")
