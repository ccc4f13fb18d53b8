"""What a figure shows, as text."""


def labels(ax):
    """Of all that has one, whether or not there is a legend."""
    return ax.get_legend_handles_labels()[1]


def texts(ax):
    """Of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def words(ax):
    """Written inside the axes."""
    return [text.get_text() for text in ax.texts]


def line_of(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)
