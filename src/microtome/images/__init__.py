"""Image sets: what is public about one, its code, and its files (IDX, NPZ, HDF5, PNG in folders and ZIP). No sums."""

from microtome.images.image_code import ImageCode
from microtome.images.image_schema import ImageSchema
from microtome.images.image_set import ImageSet
from microtome.images.reading import read_images

__all__ = ["ImageCode", "ImageSchema", "ImageSet", "read_images"]
