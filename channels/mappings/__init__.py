"""Vendors without a module of their own: a TOML file says where in their bodies our fields stand (API 11).

`mapping` is the form of such a file and its checks, `adapter` reads bodies by it. The files that are shipped lie beside this
one, and a vendor is called as its file is. A file that does not check stops the start, and says which and why.
"""

from __future__ import annotations

from importlib.resources import files

from channels.delivery import Vendor
from channels.mappings.adapter import vendor_of
from channels.mappings.mapping import read


def shipped() -> list[Vendor]:
    """A vendor for each file. Raises `InvalidMapping`."""
    found = sorted(
        (one for one in files(__package__).iterdir() if one.name.endswith(".toml")), key=lambda one: one.name
    )
    return [vendor_of(read(one.name.removesuffix(".toml"), one.read_text("utf-8"))) for one in found]
