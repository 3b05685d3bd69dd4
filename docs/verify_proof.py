#!/usr/bin/env python3
"""Checks a proof that `recollect proof prove` made, without Recollect.

    python verify_proof.py PROOF.json KEY...

It needs Python 3.11 and the package cryptography. Get each KEY from its owner, not from where the
proof came from: a public key, or a file with the output of `recollect proof key list`. Every key
must have signed, and every signature must be of one of the keys. With --others, signatures of
other keys are named and not checked. Exits with 0 if all of it holds, with 1 if something does
not, and with 2 if it was called wrongly or could not write its answer.
"""

import json
import re
import sys
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

LIMIT = 64_000_000  # bytes of a file
NUMBER = r"[1-9][0-9]{0,15}"
FIELDS = ["format", "event", "path", "erased_by", "checkpoint"]
KEY = re.compile(r'[^\s"+]+\+[^\s"+]+\+[^\s"]+')
NOTE = re.compile(
    rf"(?P<text>(?P<origin>[^\n]+)\n(?P<size>{NUMBER})\n(?P<root>[^\n]+)\n)\n"
    "(?P<signatures>(?:\N{EM DASH} [^ \n]+ [^ \n]+\n)+)"
)
LINE = re.compile(
    rf'(?P<header>\{{"v":[1-9][0-9]{{0,3}},"seq":(?P<seq>{NUMBER}),"tx":\[{NUMBER},{NUMBER}\],'
    r'"id":"[A-Za-z0-9_.:@/+~#=-]{1,160}","kind":"(?P<kind>[a-z_]{1,40}\.[a-z_]{1,40})",'
    r'"at":"(?P<at>[0-9T:.-]{26}Z)","origin":"(?P<origin>person|agent|unverified|system)",'
    r'"subject":(?:null|"[0-9a-f]{32}"),"cipher":(?P<cipher>null|[1-9][0-9]{0,8}),'
    r'"body":"(?P<body>[0-9a-f]{64})","prev":"[0-9a-f]{64}"),"hash":"(?P<hash>[0-9a-f]{64})",'
    rf'(?:"salt":"(?P<salt>[0-9a-f]{{32}})","data":(?P<data>[^\n]*)|"erased":"(?P<by>{NUMBER})")\}}'
)
FORM = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class Wrong(Exception):
    """Why a proof does not hold."""


def need(holds, problem):
    if not holds:
        raise Wrong(problem)


def shown(value):
    """Whatever was given, as JSON in ASCII: it acts on no terminal and looks like no other line."""
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f")


def parsed(text):
    def once(pairs):  # readers differ in which of two fields with one name counts
        need(len(dict(pairs)) == len(pairs), "a field is there twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def decoded(text, what):
    """Base64 in its one usual form."""
    try:
        blob = b64decode(text)
    except ValueError:
        blob = b""
    need(b64encode(blob).decode() == text, f"{what} is not in base64")
    return blob


def key_of(line):
    """(name, kind, id, raw key) of a public key."""
    name, id, blob = line.split("+", 2)
    raw = decoded(blob, f"the key {shown(line)}")
    need(sha256(f"{name}\n".encode() + raw).hexdigest()[:8] == id, f"mistyped: {shown(line)}")
    need(len(raw) == 33 and raw[0] in (1, 4), f"not an Ed25519 key: {shown(line)}")
    return name, raw[0], id, raw[1:]


def checkpoint(text, keys, others):
    """(the parts of the note, who signed it), if every key did."""
    note, left, said = NOTE.fullmatch(text), list(dict.fromkeys(keys)), []
    need(note, "the checkpoint is not a signed note")
    for name, code in re.findall(" ([^ ]+) ([^ ]+)\n", note["signatures"]):
        blob = decoded(code, "a signature")
        key = next((k for k in left if (k[0], k[2]) == (name, blob[:4].hex())), None)
        need(key or others, f"also signed by {shown(name)}, whose key was not given (--others)")
        left = [each for each in left if each != key]
        how = check_signature(key, note["text"], blob[4:]) if key else " (not checked)"
        said.append(shown(name) + how)
    need(not left, f"not signed by {', '.join(shown(key[0]) for key in left)}")
    need((note["origin"], 1) in [key[:2] for key in keys], "no key of this ledger was given")
    return note, ", ".join(said)


def check_signature(key, text, signature):
    """Raises if it is not of this key; when a witness saw the checkpoint."""
    (name, kind, _, raw), when = key, ""
    if kind == 4:  # a witness also signs when it saw the checkpoint
        seconds, signature = int.from_bytes(signature[:8]), signature[8:]
        text = f"cosignature/v1\ntime {seconds}\n{text}"
        need(seconds < 2**37, "a witness with an impossible time")
        when = f" (seen {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC)"
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, text.encode())
    except InvalidSignature:
        raise Wrong(f"the signature of {shown(name)} is wrong") from None
    return when


def event(given, note):
    """The parts of a line that is in the tree."""
    line = LINE.fullmatch(given["event"])
    need(line, "the event is not a line of a ledger")
    need(sha256(line["header"].encode()).hexdigest() == line["hash"], "the event was changed")
    if line["data"] is not None:
        body = bytes.fromhex(line["salt"]) + line["data"].encode()
        need(sha256(body).hexdigest() == line["body"], "the body of the event was changed")
    need(isinstance(given["path"], list), "the path is not a list")
    path = [decoded(each, "the path") for each in given["path"]]
    leaf = sha256(b"\0" + bytes.fromhex(line["hash"])).digest()
    root = root_of(leaf, int(line["seq"]) - 1, int(note["size"]), path)
    need(root == decoded(note["root"], "the root"), "it is not in the ledger that was signed")
    return line


def root_of(node, position, size, path):
    """The root of a tree of this size that has the node at this position (RFC 9162, 2.1)."""
    if size == 1:
        need(position == 0 and not path, "the path to the root is too long")
        return node
    need(path, "the path to the root is too short")
    *path, sibling = path
    left = 1 << (size - 1).bit_length() - 1  # so many are in the left half
    if position < left:
        return sha256(b"\1" + root_of(node, position, left, path) + sibling).digest()
    return sha256(b"\1" + sibling + root_of(node, position - left, size - left, path)).digest()


def verify(raw, keys, others=False):
    """What a proof says, as lines; anything that it raises means that nothing is proved."""
    given = parsed(raw.decode("ascii"))
    need(json.dumps(given, indent=1).encode() + b"\n" == raw, "a proof is not spelled like this")
    need(list(given) == FIELDS, "other fields than a proof has")
    need(given["format"] == "recollect-proof/1", "a proof of another version")
    note, signed = checkpoint(given["checkpoint"], keys, others)
    line, later = event(given, note), given["erased_by"]
    need((line["by"] is None) == (later is None), "an erasure without its event, or the reverse")
    if later is not None:  # a body that is gone is shown with the event that erased it
        need(list(later) == FIELDS[1:3], "other fields than an event that erases has")
        erasing = event(later, note)
        need(erasing["seq"] == line["by"], "another event than the one that erased")
        need(int(erasing["seq"]) > int(line["seq"]), "erased before it was written")
        need(erasing["kind"] == "events.erased", "not an event that erases")
        need(erasing["origin"] in ("person", "system"), "erased by one who may not")
        need(int(line["seq"]) in parsed(erasing["data"])["targets"], "it erased other events")
        body = f"Erased by event {erasing['seq']} at {erasing['at']}, {erasing['origin']}"
    elif line["cipher"] != "null":
        body = "Its body is encrypted"
    else:
        body = f"Its body, as it was written:\n{shown(parsed(line['data']))}"
    return [
        f"Proved: event {line['seq']} of {shown(note['origin'])}",
        f"  what     {line['kind']}",
        f"  when     {line['at']}, by the clock of who wrote it",
        f"  by       {line['origin']}",
        f"  signed   {signed}, over {note['size']} events",
        *body.replace("\n", "\n    ").split("\n"),
    ]


def contents(name, what):
    """The bytes of an ordinary file: others may have no end."""
    path = Path(name)
    need(path.is_file(), f"{shown(name)} is not {what}")
    need(path.stat().st_size <= LIMIT, f"{shown(name)} is larger than {LIMIT:,} bytes")
    return path.read_bytes()


def keys_in(word):
    """The key that a word is, or all keys of the file that it names."""
    is_key = KEY.fullmatch(word)
    raw = word.encode() if is_key else contents(word, "a public key or an ordinary file of them")
    found = KEY.findall(raw.decode("utf-16" if raw[:2] == b"\xff\xfe" else "utf-8-sig", "replace"))
    need(found, f"no public key in {shown(word)}: give what `recollect proof key list` shows")
    return [key_of(line) for line in found]


def main(arguments):
    words = [word for word in arguments if word != "--others"]
    if len(words) < 2 or words[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        keys = [key for word in words[1:] for key in keys_in(word)]
        raw = contents(words[0], "an ordinary file")
        code, said = 0, verify(raw, keys, "--others" in arguments)
    except (Wrong, OSError) as problem:
        code, said = 1, [f"Not proved: {problem}"]
    except FORM:
        code, said = 1, ["Not proved: it does not have the form of a proof"]
    try:
        print(*said, sep="\n", file=sys.stderr if code else sys.stdout, flush=True)
    except OSError:
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
