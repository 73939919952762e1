"""A real browser: Debian's chromium without a window, driven through its chromedriver."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

__all__ = ["ADK_UI", "AXE", "NODE", "Browser", "browsing", "missing"]

PATIENCE = 15.0  # seconds until what does not come fails its test; the machine may be busy
NODE = Path(os.environ.get("RXAGENT_NODE") or Path(sys.prefix, "node")) / "node_modules"
AXE = NODE / "axe-core" / "axe.min.js"
ADK_UI = Path(os.environ.get("RXAGENT_ADK_UI") or Path(sys.prefix, "adk-ui", "google", "adk", "cli", "browser"))
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
)


def missing() -> str:
    """Why there is no browser; empty when there is one."""
    if find_spec("selenium") is None:
        return "needs selenium, which the extra `dev` brings"
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"needs {' and '.join(lacking)} (Debian: apt-get install chromium chromium-driver)" if lacking else ""


class Browser:
    """A page as a user has it: what stands there, what can be pressed."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        """Go there, wide and light, as a new visitor."""
        self.look()
        self.driver.get("about:blank")  # else only the part behind # would change
        self.driver.get(url)

    def look(self, width: int = 1280, height: int = 800, scheme: str = "light") -> None:
        """The size of the window in CSS pixels, and the colours that the user prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def js(self, body: str, *args: Any) -> Any:
        """What a function body returns in the page."""
        return self.driver.execute_script(body, *args)

    def until(self, look: Callable[[], Any]) -> Any:
        """What `look` finds, once it finds something; what is replaced while it is looked at is looked at again."""
        from selenium.common.exceptions import StaleElementReferenceException

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if found := look():
                    return found
            except StaleElementReferenceException:
                pass
            assert time.monotonic() < deadline, f"it did not come; the page says: {self.text('body')}"
            threading.Event().wait(0.02)

    def one(self, css: str) -> WebElement:
        """The element, once it is there and can be seen."""

        def look() -> WebElement | None:
            found = self.driver.find_elements("css selector", css)
            return next((one for one in found if one.is_displayed()), None)

        element: WebElement = self.until(look)
        return element

    def text(self, css: str) -> str:
        """What stands in the element."""
        return str(self.js("return document.querySelector(arguments[0])?.innerText ?? ''", css))

    def says(self, css: str, words: str) -> None:
        """Wait until the words stand there."""
        self.until(lambda: words in self.text(css))

    def button(self, name: str) -> WebElement:
        """The button of this name, once it can be pressed; the last one, when there are several."""

        def look() -> WebElement | None:
            found = [one for one in self.driver.find_elements("css selector", "button") if one.text == name]
            return next((one for one in reversed(found) if one.is_displayed() and one.is_enabled()), None)

        element: WebElement = self.until(look)
        return element

    def press(self, name: str) -> None:
        """Press the button of this name."""

        def press() -> bool:
            self.button(name).click()
            return True

        self.until(press)

    def click(self, css: str) -> None:
        """Click on the element, once it is there; one that is replaced in between is looked for again."""

        def click() -> bool:
            self.one(css).click()
            return True

        self.until(click)

    def send(self, text: str) -> None:
        """Write a message and send it."""
        self.one("#send")
        self.one("#text").send_keys(text + "\n")

    def keys(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self) -> str:
        """What has the focus: its id, else its words."""
        return str(self.js("const one = document.activeElement; return one.id || one.innerText"))

    def idle(self) -> None:
        """Wait until no run goes on."""
        self.one("#send")


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with a profile of its own, for the block."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
