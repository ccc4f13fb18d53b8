"""Several laws: compared by what they predict, and weighted."""
