"""What tables of any tool are read as: numbers in cells, csv files, partitions, streams, checks."""
