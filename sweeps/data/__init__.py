"""The table of data sets. Each may be trained on (upstream) or transferred to (downstream)."""

from .datasets import DATASETS, DataSet, find_dataset
from .images import Images, load_images
from .subsets import class_balanced_order, split_train_val

__all__ = ["DATASETS", "DataSet", "Images", "class_balanced_order", "find_dataset", "load_images", "split_train_val"]
