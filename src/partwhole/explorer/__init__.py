"""The explorer: theory that moves under the hand, on a page of this machine.

``partwhole explore`` opens it. A panel is a script of the folder ``scripts``, with controls for
some of its variables; `panels.PANELS` lists them, and `server.Explorer` answers the page.
"""
