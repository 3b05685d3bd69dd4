"""Texts that try to leave their place: to run, to close a tag, to turn a line around."""

from __future__ import annotations

import unicodedata

TAGS = (
    "<script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "<svg onload=\"document.title='ran'\">",
    "</title><script>document.title='ran'</script>",
    "</textarea><img src=x onerror=document.title='ran'>",
    '"><b class=live>live</b>',
    "'><b class=live>live</b>",
    "</main><b class=live>live</b>",
    "<b class=live>live</b>",
    "<a href=javascript:document.title='ran' class=live>x</a>",
    "javascript:document.title='ran'",
    "<iframe srcdoc=\"<script>parent.document.title='ran'</script>\" class=live></iframe>",
    "<form action=//evil.example class=live><button>x</button></form>",
    "<style class=live>*{display:none}</style>",
    "<base href=//evil.example class=live>",
    "<link rel=stylesheet href=//evil.example class=live>",
    "<meta http-equiv=refresh content='0;url=//evil.example' class=live>",
    "{{ 7*7 }}{% raw %}<b class=live>",
    "{{ ''.__class__.__mro__ }}",
    "<!-- <b class=live> --><b class=live>",
    "<![CDATA[<b class=live>]]>",
    "<math><mtext><b class=live>",
    "<template><b class=live></template>",
    "&lt;b class=live&gt;",
    "%3Cb class=live%3E",
    "\\u003cb class=live>",
    "]]><b class=live>",
    "`${document.title='ran'}`",
)
SIGNS = (
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\x00"[:0] + "\u0085",
    "\u2028",
    "\ud7ff",
    "\U000e0041",
)
HOSTILE = tuple(
    dict.fromkeys(
        [
            *TAGS,
            *(f"a{sign}b {TAGS[0]}" for sign in SIGNS),
            *(f"{a}{b}" for a in TAGS[:6] for b in TAGS[4:10]),
        ]
    )
)


def as_name(text: str) -> str:
    """As much of a text as a key, a tag or a session may have."""
    return "".join(char for char in text if unicodedata.category(char) != "Cc")[:60]
