"""Golden vectors of the ledger's format, version 1. Lines are only ever added here.

Responsible for bytes that every later release must read, verify and reproduce. The inputs stand
beside the bytes, so that the encoder is held to them too.
"""

from __future__ import annotations

from typing import Final

# (draft id, kind, origin, data, salt in hex); chained from genesis, one append for each group.
INPUTS: Final[list[tuple[str, list[tuple[str, str, str, bytes, str]]]]] = [
    (
        "2026-01-01T00:00:00.000000Z",
        [("c0ffee.1", "space.opened", "system", b'{"space":"main"}', "00" * 16)],
    ),
    (
        "2026-01-01T00:00:01.000001Z",
        [
            (
                "k.1",
                "episode.observed",
                "person",
                '{"id":"e-1","text":"caf\u00e9 \u2028 0\u00b0C","role":"user",'
                '"said_at":"2026-01-01T00:00:01.000000Z"}'.encode(),
                "11" * 16,
            ),
            (
                "k.2",
                "record.added",
                "agent",
                b'{"id":"r-1","text":"Water freezes at 0 C","kind":"fact","confidence":1.0,'
                b'"status":"active","trust":"agent","evidence":["e-1"]}',
                "22" * 16,
            ),
        ],
    ),
    (
        "2026-01-01T00:00:01.000001Z",
        [("x.y.1", "events.erased", "person", b'{"targets":[2]}', "ab" * 16)],
    ),
]

# The bytes of those four events, in order, without newline.
LINES: Final[list[bytes]] = [
    (
        b'{"v":1,"seq":1,"tx":[1,1],"id":"c0ffee.1","kind":"space.opened","at":"2026-01-'
        b'01T00:00:00.000000Z","origin":"system","subject":null,"cipher":null,"body":"42'
        b'a17ddc36037873dbfa3fd48b152b7b81f7b98ed18f6e2fa00bb23572e3653e","prev":"000000'
        b'0000000000000000000000000000000000000000000000000000000000","hash":"d968e849e3'
        b'9daf13c5a0716bd71e7d07f829d16022c24834dd8d7e31533edfa0","salt":"00000000000000'
        b'000000000000000000","data":{"space":"main"}}'
    ),
    (
        b'{"v":1,"seq":2,"tx":[2,3],"id":"k.1","kind":"episode.observed","at":"2026-01-0'
        b'1T00:00:01.000001Z","origin":"person","subject":null,"cipher":null,"body":"a07'
        b'977c8a3c9a8f33571c7416b42be4b517f1909ed7d8d032946f71bd22cff9a","prev":"d968e84'
        b'9e39daf13c5a0716bd71e7d07f829d16022c24834dd8d7e31533edfa0","hash":"4d5a8879d57'
        b'4da5d881710fe158d9d15b702b8723400b94471b79c372adf9b05","salt":"111111111111111'
        b'11111111111111111","data":{"id":"e-1","text":"'
        b'caf\xc3\xa9 \xe2\x80\xa8 0\xc2\xb0C","role":"user","s'
        b'aid_at":"2026-01-01T00:00:01.000000Z"}}'
    ),
    (
        b'{"v":1,"seq":3,"tx":[2,3],"id":"k.2","kind":"record.added","at":"2026-01-01T00'
        b':00:01.000001Z","origin":"agent","subject":null,"cipher":null,"body":"5f353710'
        b'b94f19249c48a4ef40bc9070314d2545554e708fc216050dfbd1012b","prev":"4d5a8879d574'
        b'da5d881710fe158d9d15b702b8723400b94471b79c372adf9b05","hash":"c31c37a42891d2a7'
        b'65429aacf71d718db50156de14e32268ca4a2f2ea1dc243a","salt":"22222222222222222222'
        b'222222222222","data":{"id":"r-1","text":"Water freezes at 0 C","kind":"fact","'
        b'confidence":1.0,"status":"active","trust":"agent","evidence":["e-1"]}}'
    ),
    (
        b'{"v":1,"seq":4,"tx":[4,4],"id":"x.y.1","kind":"events.erased","at":"2026-01-01'
        b'T00:00:01.000001Z","origin":"person","subject":null,"cipher":null,"body":"9729'
        b'de9390faf3dffeb15622e5758067d5f9266b63e924f0e53b9c848d5f32ef","prev":"c31c37a4'
        b'2891d2a765429aacf71d718db50156de14e32268ca4a2f2ea1dc243a","hash":"b3e4b1c72668'
        b'd359dfa8834612a552b3b97704b39fff8fd713bdc4eb7bfc4997","salt":"abababababababab'
        b'abababababababab","data":{"targets":[2]}}'
    ),
]

# Event 2 once its body is gone.
ERASED: Final[bytes] = (
    b'{"v":1,"seq":2,"tx":[2,3],"id":"k.1","kind":"episode.observed","at":"2026-01-0'
    b'1T00:00:01.000001Z","origin":"person","subject":null,"cipher":null,"body":"a07'
    b'977c8a3c9a8f33571c7416b42be4b517f1909ed7d8d032946f71bd22cff9a","prev":"d968e84'
    b'9e39daf13c5a0716bd71e7d07f829d16022c24834dd8d7e31533edfa0","hash":"4d5a8879d57'
    b'4da5d881710fe158d9d15b702b8723400b94471b79c372adf9b05","erased":"4"}'
)

# What came later: frames, receipts, documents and sessions, chained after the lines above.
LATER_INPUTS: Final[list[tuple[str, list[tuple[str, str, str, bytes, str]]]]] = [
    (
        "2026-01-01T00:00:02.000000Z",
        [
            (
                "f.1",
                "frame.set",
                "person",
                b'{"name":"mail","trust":"person","weights":[0.6,0.2,0.1,0.05,0.05],"uni'
                b't":"any","tokens":300,"floor":0.2,"intro":"Known:","record":"* {text}"'
                b',"episode":"{role}: {text}","where":"kind = \'fact\'","guarantees":["rul'
                b'es"],"cache":60}',
                "33" * 16,
            ),
        ],
    ),
    (
        "2026-01-01T00:00:03.000000Z",
        [
            (
                "g.1",
                "context.handed",
                "agent",
                b'{"user":"ann","id":"c-20260101-0000-0123456789abcdef","query":"ccccccc'
                b'ccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","frame":"ta'
                b'sk","frame_digest":"dddddddddddddddddddddddddddddddddddddddddddddddddd'
                b'dddddddddddddd","ranking":1,"embedder":null,"now":"2026-01-01T00:00:02'
                b'.000000Z","position":4,"budget":1500,"tokens":42,"counter":"estimate",'
                b'"signals":["similarity","recency"],"items":[{"seq":3,"shares":[0.2,0.1'
                b'],"against":[2],"guaranteed":true},{"seq":3}]}',
                "44" * 16,
            ),
            (
                "h.1",
                "frame.dropped",
                "person",
                b'{"name":"mail"}',
                "55" * 16,
            ),
        ],
    ),
    (
        "2026-01-01T00:00:04.000000Z",
        [
            (
                "d.1",
                "document.set",
                "person",
                '{"session":"s","type":"rules","name":"mail","trust":"person",'
                '"data":{"never":["before noon","caf\u00e9"],"weight":0.5}}'.encode(),
                "66" * 16,
            ),
            (
                "d.2",
                "document.dropped",
                "person",
                b'{"type":"rules","name":"mail"}',
                "77" * 16,
            ),
        ],
    ),
    (
        "2026-01-01T00:00:05.000000Z",
        [
            (
                "s.1",
                "session.opened",
                "agent",
                '{"user":"ann","id":"caf\u00e9 1","task_type":"review",'
                '"start_active_hours":1.5}'.encode(),
                "88" * 16,
            ),
            (
                "s.2",
                "session.closed",
                "agent",
                '{"user":"ann","id":"caf\u00e9 1"}'.encode(),
                "99" * 16,
            ),
        ],
    ),
]

LATER_LINES: Final[list[bytes]] = [
    (
        b'{"v":1,"seq":5,"tx":[5,5],"id":"f.1","kind":"frame.set","at":"2026-01-01T00:00:0'
        b'2.000000Z","origin":"person","subject":null,"cipher":null,"body":"8195781b2ae1d7'
        b'867592b071cce52838524343c7f1dcf703592f9b247814503f","prev":"b3e4b1c72668d359dfa8'
        b'834612a552b3b97704b39fff8fd713bdc4eb7bfc4997","hash":"53af0665d10fe963ac7cdd75a7'
        b'b39e7dd9882b37af725d9a570d5d3db2fa0798","salt":"33333333333333333333333333333333'
        b'","data":{"name":"mail","trust":"person","weights":[0.6,0.2,0.1,0.05,0.05],"unit'
        b'":"any","tokens":300,"floor":0.2,"intro":"Known:","record":"* {text}","episode":'
        b'"{role}: {text}","where":"kind = \'fact\'","guarantees":["rules"],"cache":60}}'
    ),
    (
        b'{"v":1,"seq":6,"tx":[6,7],"id":"g.1","kind":"context.handed","at":"2026-01-01T00'
        b':00:03.000000Z","origin":"agent","subject":null,"cipher":null,"body":"2f6506ad23'
        b'16713ac0ee36fb53363cf383833bf3d2a38a8a135bd3d99c89f6e5","prev":"53af0665d10fe963'
        b'ac7cdd75a7b39e7dd9882b37af725d9a570d5d3db2fa0798","hash":"bcf2fdf948653f7f244810'
        b'cf4b985d032c101580156f48c4491cf5446ffed248","salt":"4444444444444444444444444444'
        b'4444","data":{"user":"ann","id":"c-20260101-0000-0123456789abcdef","query":"cccc'
        b'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","frame":"task","fr'
        b'ame_digest":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","'
        b'ranking":1,"embedder":null,"now":"2026-01-01T00:00:02.000000Z","position":4,"bud'
        b'get":1500,"tokens":42,"counter":"estimate","signals":["similarity","recency"],"i'
        b'tems":[{"seq":3,"shares":[0.2,0.1],"against":[2],"guaranteed":true},{"seq":3}]}}'
    ),
    (
        b'{"v":1,"seq":7,"tx":[6,7],"id":"h.1","kind":"frame.dropped","at":"2026-01-01T00:'
        b'00:03.000000Z","origin":"person","subject":null,"cipher":null,"body":"9797c45e69'
        b'bfa92acea287a4557d71f2c0fdbdd84828588f0ed9d759d6a68b55","prev":"bcf2fdf948653f7f'
        b'244810cf4b985d032c101580156f48c4491cf5446ffed248","hash":"c0fa19a95269b478a0c067'
        b'43cb886370bfbed557ba0cca76a6223e3374c626ef","salt":"5555555555555555555555555555'
        b'5555","data":{"name":"mail"}}'
    ),
    (
        b'{"v":1,"seq":8,"tx":[8,9],"id":"d.1","kind":"document.set","at":"2026-01-01T00:0'
        b'0:04.000000Z","origin":"person","subject":null,"cipher":null,"body":"cd3ce941b62'
        b'd9d2bf78ffa9cda13900eb39094b0c067cbb60f7a38488bf093c8","prev":"c0fa19a95269b478a'
        b'0c06743cb886370bfbed557ba0cca76a6223e3374c626ef","hash":"46787da4744e6f0acf0424b'
        b'3805e230663882549e3ddbd3adf91730b4b3cd36f","salt":"66666666666666666666666666666'
        b'666","data":{"session":"s","type":"rules","name":"mail","trust":"person","data":'
        b'{"never":["before noon","caf\xc3\xa9"],"weight":0.5}}}'
    ),
    (
        b'{"v":1,"seq":9,"tx":[8,9],"id":"d.2","kind":"document.dropped","at":"2026-01-01T'
        b'00:00:04.000000Z","origin":"person","subject":null,"cipher":null,"body":"f230223'
        b'94152dfcf4b63060ba4a2c1bf878cf8ace7ed073f53f52fdff703df83","prev":"46787da4744e6'
        b'f0acf0424b3805e230663882549e3ddbd3adf91730b4b3cd36f","hash":"08cdbfc94d5fd57442c'
        b'5afccf5f5b889193e0ed9323313b67c9c42b7344b00c0","salt":"7777777777777777777777777'
        b'7777777","data":{"type":"rules","name":"mail"}}'
    ),
    (
        b'{"v":1,"seq":10,"tx":[10,11],"id":"s.1","kind":"session.opened","at":"2026-01-01'
        b'T00:00:05.000000Z","origin":"agent","subject":null,"cipher":null,"body":"354e9f1'
        b'2e19a3c508785ef107b59e9a7e52a8a6d14c4519cd4e2ed9b8f3d0c6c","prev":"08cdbfc94d5fd'
        b'57442c5afccf5f5b889193e0ed9323313b67c9c42b7344b00c0","hash":"02f1a65e25d10e8e961'
        b'a9fe6ed0781d31e203d315b4c5a2f5ffd7fcc79451d0d","salt":"8888888888888888888888888'
        b'8888888","data":{"user":"ann","id":"caf\xc3\xa9 1","task_type":"review","start_active_'
        b'hours":1.5}}'
    ),
    (
        b'{"v":1,"seq":11,"tx":[10,11],"id":"s.2","kind":"session.closed","at":"2026-01-01'
        b'T00:00:05.000000Z","origin":"agent","subject":null,"cipher":null,"body":"09c7ac2'
        b'c9ec504ac9d7d0d84ebffe3525deb2efce899e02a04445dc94222f167","prev":"02f1a65e25d10'
        b'e8e961a9fe6ed0781d31e203d315b4c5a2f5ffd7fcc79451d0d","hash":"15af98bafb67ef15ab7'
        b'87cc7473182da2c8588a4ad7b9202f0e875b65a443b51","salt":"9999999999999999999999999'
        b'9999999","data":{"user":"ann","id":"caf\xc3\xa9 1"}}'
    ),
]
