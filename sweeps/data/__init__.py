"""Data sets (`datasets`), subsets of them (`subsets`), and images and batches as tensors (`images`, `batches`)."""
