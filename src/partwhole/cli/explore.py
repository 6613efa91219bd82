"""``partwhole explore``: theory that moves under the hand, on a page of this machine."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import arg


def explore(
    port: Annotated[int, arg(metavar="PORT", help_behavior_hint="")] = 0, browser: bool = True
) -> None:
    """Open a page on which theory moves under the hand, and your table is audited.

    The page comes from this machine, and nothing leaves it. Ends when it is interrupted (Ctrl-C).

    Args:
        port: Of the page, at 127.0.0.1; any that is free by default.
        browser: Open the page in the browser.
    """
    import os
    import signal
    import webbrowser

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    # A terminal that is closed sends the second, which not all systems have. What is ignored, as
    # under nohup, stays so.
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in signals}
    before = {
        n: handler for n, handler in handlers.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, end)
    try:
        from partwhole.explorer.server import Explorer

        with Explorer(port) as explorer:
            print(f"The explorer is at {explorer.address} until you press Ctrl-C.", flush=True)
            if browser:
                webbrowser.open(explorer.address)
            try:
                explorer.serve_forever()
            except KeyboardInterrupt:
                print("Closing.", flush=True)
    except KeyboardInterrupt:
        # Pressed again, or before there was a page: nothing is waited for.
        os._exit(130)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
