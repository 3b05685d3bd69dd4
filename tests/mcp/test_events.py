"""The tool that lists events tells what happened, and no words of a memory."""

from __future__ import annotations

from tests.mcp.talking import Folder, Talk, in_talk


def test_events_are_listed_without_words(folder: Folder) -> None:
    async def work(talk: Talk) -> None:
        made = await talk.ask("remember", text="The port is canary7f3a.", key="canary.key")
        mine = await talk.ask("remember", text="canary7f3a, too.", unverified=True)
        await talk.ask("forget", id=made.data["id"])
        said = await talk.ask("events", memory=made.data["memory"])
        kinds = [event["kind"] for event in said.data["events"]]
        assert kinds == ["space.opened", "record.added", "record.added", "record.forgotten"]
        assert said.data["events"][1]["id"] == made.data["id"]
        assert said.data["events"][2]["id"] == mine.data["id"]
        assert said.data["events"][2]["trust"] == "unverified"
        assert (await talk.ask("events")).data == said.data
        assert "canary" not in said.text + str(said.data)

    in_talk(folder, work, tools="all")


def test_events_of_some_kinds_of_one_id_or_after_a_position(folder: Folder) -> None:
    async def work(talk: Talk) -> None:
        ids = [(await talk.ask("remember", text=f"Number {n}.")).data["id"] for n in range(3)]
        some = await talk.ask("events", kinds=["record.added"], limit=2)
        assert [event["id"] for event in some.data["events"]] == ids[1:]
        after = await talk.ask("events", after=2, limit=1)
        assert [event["id"] for event in after.data["events"]] == [ids[1]]
        about = await talk.ask("events", id=ids[0])
        assert len(about.data["events"]) == 1
        none = await talk.ask("events", kinds=["link.added"])
        assert none.text == "No events."
        wrong = await talk.call("events", kinds=["record.eaten"])
        assert wrong.data["error"]["code"] == "invalid_input"

    in_talk(folder, work, tools="all")
