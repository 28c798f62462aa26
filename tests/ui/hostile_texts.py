"""Texts that would execute in a page that treated them as HTML, a script or a style (T130, S14)."""

MARK = "window.__ran = true"

CORPUS = (
    f"<script>{MARK}</script>",
    f"<img src=x onerror='{MARK}'>",
    f'"><svg onload="{MARK}">',
    f"'-({MARK})-'",
    f"javascript:{MARK}",
    f"<iframe srcdoc='<script>parent.{MARK}</script>'>",
    f"<a href='javascript:{MARK}' autofocus onfocus='{MARK}'>x</a>",
    f"</script><script>{MARK}</script>",
    f"</textarea></pre></title><script>{MARK}</script>",
    f"<style>@import 'data:text/css,*{{background:url(javascript:{MARK})}}'</style>",
    f"{{{{constructor.constructor('{MARK}')()}}}}",
    f"${{{MARK}}}",
    f"<math><mi//xlink:href='data:x,<script>{MARK}</script>'>",
    "\u202e\u2066<b>turned</b>\u2069",
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m",
    "\u0000".replace("\u0000", "\ufffd") + "<plaintext>",
)

RAN = "window.__ran === true"
EVERYTHING = "\n".join(CORPUS)
