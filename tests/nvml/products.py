"""Say what a driver says of each product; the facts lie in ``products.toml``."""

import importlib
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

pynvml: Final = importlib.import_module("pynvml")  # It has no types.
TABLE: Final = Path(__file__).with_name("products.toml")


class Slices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a product can be cut into MIG instances."""

    instances: int
    multiprocessors: int


class Product(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every card of a product has in common."""

    memory: int
    architecture: Literal["volta", "turing", "ampere", "ada", "hopper", "blackwell"]
    compute: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d$")]
    pci: int
    brand: Literal["nvidia", "tesla"] = "nvidia"
    pcie: tuple[int, int] | None = None
    nvlinks: int = 0
    fabric: bool = False
    mig: Slices | None = None

    def constant(self, kind: Literal["BRAND", "DEVICE_ARCH"]) -> int:
        """Return NVML's number for the brand or the architecture."""
        word = {"BRAND": self.brand, "DEVICE_ARCH": self.architecture}[kind]
        return int(getattr(pynvml, f"NVML_{kind}_{word.upper()}"))


PRODUCTS: Final = msgspec.toml.decode(TABLE.read_bytes(), type=dict[str, Product])
