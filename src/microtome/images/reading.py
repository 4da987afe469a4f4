"""One function that reads an image set, whatever its format."""

from __future__ import annotations

from pathlib import Path

from microtome.errors import TableError
from microtome.images.arrays import read_hdf5, read_npz
from microtome.images.folder import read_archive, read_folder
from microtome.images.idx import is_idx, labels_beside, read_idx
from microtome.images.image_set import ImageSet

_HDF5 = (".h5", ".hdf5", ".hdf")
_ZIP = ".zip"


def is_image_set(path: Path) -> bool:
    """Whether a path looks like one of the image formats, by its name and first bytes."""
    return path.is_dir() or path.suffix.lower() in (".npz", _ZIP, *_HDF5) or (path.is_file() and is_idx(path))


def read_images(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    part: str | None = None,
    shape: tuple[int, int, int] | None = None,
) -> ImageSet:
    """Read an image set.

    Args:
        path: An IDX file (gzipped or not), an NPZ archive, an HDF5 file, or a folder of PNG files, as it is
            or packed as a ZIP archive, with a sub-folder for each class where there are labels.
        labels: The IDX file of labels; by default the one beside the images by MNIST's way of naming them.
        part: The part of an NPZ or HDF5 file that holds several, such as ``train``.
        shape: Height, width and channels where images are stored as flat rows.
    """
    path = Path(path)
    if not path.exists():
        raise TableError(f"{path}: no such file or folder")
    is_archive = path.suffix.lower() in (".npz", *_HDF5)
    if part is not None and not is_archive:
        raise TableError(f"{path}: only NPZ and HDF5 files have parts such as {part!r}")
    is_of_pictures = path.is_dir() or path.suffix.lower() == _ZIP
    if labels is not None and (is_archive or is_of_pictures):
        raise TableError(f"{path}: a file of labels goes with IDX images; here labels are with the images")
    files: tuple[Path, ...] = (path,)
    if is_of_pictures:
        pixels, marks = read_folder(path) if path.is_dir() else read_archive(path)
    elif path.suffix.lower() == ".npz":
        pixels, marks = read_npz(path, part)
    elif is_archive:
        pixels, marks = read_hdf5(path, part)
    elif is_idx(path):
        pixels, marks = read_idx(path), None
        beside = Path(labels) if labels is not None else labels_beside(path)
        if beside is not None:
            marks, files = read_idx(beside), (path, beside)
    else:
        raise TableError(f"{path} is no image set: IDX, NPZ, HDF5 and PNG files in a folder or a ZIP archive are read")
    return ImageSet.from_arrays(pixels, marks, shape=shape, origin=str(path), files=files)
