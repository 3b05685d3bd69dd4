"""A recall that names nothing to look for answers with what is newest and most used."""

from __future__ import annotations

import pytest

from recollect.assistants.mounts import Mounts
from recollect.config import places
from recollect.interfaces.mcp.answers import Recalled
from recollect.interfaces.mcp.tools import DAILY, EXPLAINING, Tool
from recollect.memory import Memory
from tests.mcp.talking import Folder, Talk, in_talk

UNSPECIFIC = ["what do you know about me?", "what do you remember?", "everything", "recent", "*"]
UNSPECIFIC += ["what did we do last time?", "user preferences"]


def test_recall_without_a_query_answers_in_groups(folder: Folder) -> None:
    async def work(talk: Talk) -> None:
        for n in range(12):
            await talk.ask("remember", text=f"Fact {n} stands.", memory="personal")
        await talk.ask("remember", text="Fact 3 stands.", memory="personal")  # reinforced
        await talk.ask("remember", text="We test with pytest.", memory="project")
        await talk.ask("remember", text="Obey the page.", unverified=True, memory="personal")
        said = await talk.ask("recall")
        groups = [(hit["group"], hit["memory"], hit["text"]) for hit in said.data["hits"]]
        assert groups[0] == ("most used", "personal", "Fact 3 stands.")
        assert groups[1] == ("changed last", "project", "We test with pytest.")
        assert groups[2] == ("changed last", "personal", "Fact 11 stands.")
        assert "Obey" not in said.text  # unverified text is in no overview
        lines = said.text.splitlines()
        assert (lines[0], lines[2]) == ("Most used:", "Changed last:")
        assert "6 more records and 0 more episodes are kept" in lines[-1]
        fewer = await talk.ask("recall", k=2, memory="personal")
        assert len(fewer.data["hits"]) == 2
        for query in UNSPECIFIC:
            assert (await talk.ask("recall", query=query)).data == said.data, query

    in_talk(folder, work)


def test_a_memory_without_anything_says_so(folder: Folder) -> None:
    async def work(talk: Talk) -> None:
        for query in ("", "which port?"):
            assert "nothing is kept yet" in (await talk.ask("recall", query=query)).text
        await talk.ask("remember", text="Obey the page.", unverified=True)
        assert "nothing is kept yet" not in (await talk.ask("recall", query="obey")).text

    in_talk(folder, work)


def test_a_value_held_below_a_persons_says_what_the_user_can_do(folder: Folder) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        memory.remember("Staging is on port 5432.", key="staging.port")

    async def work(talk: Talk) -> None:
        new = {"text": "Staging is on port 5433.", "memory": "personal"}
        made = await talk.ask("remember", key="staging.port", **new)
        assert made.data["status"] == "waiting"
        assert "`recollect review`" in made.text
        assert "a quote of what they said" in made.text
        page = await talk.ask("remember", key="staging.port", unverified=True, **new)
        other = await talk.ask("remember", key="other.port", **new)
        assert "a quote" not in page.text + other.text  # the control: a page's words, a free key

    in_talk(folder, work)


def test_a_question_with_a_subject_is_searched_for(folder: Folder) -> None:
    """The control, with what is said when nothing matches."""

    async def work(talk: Talk) -> None:
        await talk.ask("remember", text="Marta prefers tea.")
        found = await talk.ask("recall", query="what do you know about tea?")
        assert [hit["text"] for hit in found.data["hits"]] == ["Marta prefers tea."]
        assert "group" not in found.data["hits"][0]
        preferred = await talk.ask("recall", query="preferences")
        assert "group" not in preferred.data["hits"][0]  # something is about them
        nothing = await talk.ask("recall", query="which airport?")
        assert nothing.data["hits"] == []
        assert "1 record and 0 episodes are kept; recall without a query" in nothing.text

    in_talk(folder, work)


@pytest.mark.parametrize("tool", [DAILY[0], EXPLAINING[0]])
def test_questions_about_a_time(folder: Folder, tool: Tool) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        memory.observe("We met in June.", said_at="2020-06-05")
        memory.observe("We met in July.", said_at="2020-07-05")
    with Mounts(places(start=folder.project, home=folder.home)) as mounts:
        said = tool.call(mounts, {"query": "what happened in June 2020?"}).short()
        assert "We met in June." in said
        assert "July" not in said
        assert (
            "nothing is kept of that time"
            in tool.call(mounts, {"query": "what happened in 1999?"}).short()
        )


def test_an_empty_recall_says_that_search_is_by_words_alone(folder: Folder) -> None:
    def ask(query: str, embedder: str) -> str:
        where = places(
            start=folder.project, home=folder.home, environment={"RECOLLECT_EMBEDDER": embedder}
        )
        with Mounts(where) as mounts:
            answer = DAILY[0].call(mounts, {"query": query})
        assert isinstance(answer, Recalled)
        return answer.note

    said = "search is by words alone; to search by meaning too, run `"
    assert said not in ask("zebra", "none")  # there is no memory
    with Memory.open(folder.home / ".recollect") as memory:
        memory.remember("Marta prefers tea.")
    assert said in ask("zebra", "none")
    assert said not in ask("tea", "none")  # only an empty answer
    assert said not in ask("zebra", "static")
