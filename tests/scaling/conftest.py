from .page.browser import open_page, running_browser

__all__ = ["open_page", "running_browser"]
