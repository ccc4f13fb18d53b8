"""The commands of `scaling`, as a user calls them."""
