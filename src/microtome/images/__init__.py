"""Image sets as files and arrays: IDX, NPZ, folders of PNG, HDF5. Public facts and formats only, no statistics."""

from microtome.images.image_set import ImageSet
from microtome.images.reading import read_images

__all__ = ["ImageSet", "read_images"]
